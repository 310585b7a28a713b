// Package etcd keeps the lease of a cluster in etcd, version 3.4 or newer.
//
// The leader record is one key, the election name. Its value is the holder's node name,
// and it is bound to a lease of the holder's: it exists for as long as that is kept
// alive. Only a transaction that finds it absent makes it, so its create revision tells
// one hold from every other and is the fencing token.
//
// Everything else lives below the key, so that a role with read and write access to the
// key and to what begins with it and a slash is enough:
//
//	NAME/released       the token of the holder that gave the record up on purpose
//	NAME/reboot         which @reboot one-shots ran, by job-set id
//	NAME/running/ID     the running mark of the process with that instance id
//	NAME/claims/AT/N    what was given to whom of the firings of one instant, in shards
//	NAME/floor          nothing up to this instant is given any more
//
// What the holder writes goes in one transaction with the proof that the record still
// has its create revision.
package etcd
