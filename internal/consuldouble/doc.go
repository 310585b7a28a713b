// Package consuldouble is a test double of a Consul server, for machines on which no
// real one can be had. It is not Consul: it keeps the rules that Consul documents for
// sessions, the key/value store, transactions and blocking queries, as far as a lock on
// one key needs them, and takes the harshest reading where they leave room:
//
//   - Sessions (HTTP API, "Session"; "Sessions and distributed locks"): a session with a
//     time to live is invalidated some time between the TTL and twice the TTL after its
//     last renewal; Options say at which end. Each election of a leader begins that time
//     anew, and nothing ends while there is no leader. An unknown session cannot be
//     renewed (404) and cannot lock (500, "invalid session"). To destroy one is answered
//     200 today, and was an error where there are access lists; Options choose.
//   - A session without a list of checks has that of its node, and ends when it fails;
//     every session ends with its node's registration.
//   - Invalidation, by its TTL or by being destroyed, frees the keys that the session
//     holds (behavior release) or deletes them (behavior delete), and no session can lock
//     them for the lock delay: 15 s unless asked for, 60 s at most, and a number below
//     1,000 ns counts as seconds. A key that was unlocked has no delay. The delay is
//     kept by the leader alone, and forgotten when it goes.
//   - Indexes: every write has the next index. A key's CreateIndex, ModifyIndex and
//     LockIndex are as documented under "KV store"; a write that changes nothing leaves
//     them alone. X-Consul-Index is the ModifyIndex of the key that was asked for, the
//     highest one under a prefix, deletions included, or that of all keys where there is
//     none; it is above 0.
//   - Transactions do all of at most 64 operations (newer servers: 128) in 512 kB or none,
//     and tell which ones failed.
//   - Blocking queries answer once the index is above the one asked for, or after the
//     wait and up to a sixteenth of it more: 5 minutes unless asked for, 10 at most.
//   - Without a leader every call is answered 500, "No cluster leader"; without the right
//     token, 403.
//
// What can go wrong with a server or on the way to it is in the methods of Server: it may
// be killed and restarted, stand still, be restored from a snapshot, refuse everything, or
// answer blocking queries as the documentation warns that some do.
package consuldouble
