// Package consuldouble is a test double of a Consul server, for machines on which no
// real one can be had. It is not Consul: it keeps the rules that Consul documents for
// sessions, the key/value store, transactions and blocking queries, as far as a lock on
// one key needs them, and takes the harshest reading where they leave room:
//
//   - Sessions (HTTP API, "Session"; "Sessions and distributed locks"): a session with a
//     time to live is invalidated some time between the TTL and twice the TTL after its
//     last renewal; here it is twice. An unknown session cannot be renewed (404) and
//     cannot lock (500, "invalid session").
//   - Invalidation, by its TTL or by being destroyed, frees the keys that the session
//     holds (behavior release) or deletes them (behavior delete), and no session can lock
//     them for the lock delay. A key that was unlocked has no delay.
//   - Indexes: every change of a key raises one counter, and the key's ModifyIndex is its
//     value; CreateIndex and LockIndex are as documented under "KV store".
//   - Transactions do all of at most 64 operations or none, and tell which one failed.
//   - Blocking queries answer once the index is above the one asked for, or after the
//     wait.
//   - Without a leader every call is answered 500, "No cluster leader"; without the right
//     token, 403.
package consuldouble
