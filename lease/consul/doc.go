// Package consul keeps the lease of a cluster in Consul's key/value store.
//
// The leader record is one key, locked by a session of the holder's. The session has a
// time to live and no health checks, and its behavior is release: when it ends, the key
// stays and is free, so that its indexes go on growing. (After delete they would start
// again.) The key's ModifyIndex after the acquiring write is the fencing token.
//
// Two delays are Consul's own, and the reason why a killed holder is followed later than
// elsewhere: a session may outlive its time to live by as much again, and a key whose
// session was invalidated stays free for the lock delay. A holder that resigns causes
// neither: it unlocks the key before it destroys the session.
//
// Everything else lives beside the key:
//
//	KEY/reboot         which @reboot one-shots ran, by job-set id
//	KEY/running/ID     the running mark of the process with that instance id
//	KEY/floor          nothing up to this instant is given any more
//	KEY-claims/AT/N    what was given to whom of the firings of one instant, in shards
//
// so that an ACL policy with write on the key prefix and on sessions is enough. What the
// holder writes goes in one transaction with the check that its session holds the key.
package consul
