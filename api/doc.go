// Package api holds the wire types of an agent's HTTP interface and a client for it.
// The agent answers with these types, so what the client reads is what it wrote.
//
// JSON keys are snake_case but for a few that are older than that rule. Instants are
// RFC 3339 with the offset +00:00, durations are seconds as numbers. Where a key may
// be null it is present with that value; where it may be absent its comment says so.
package api
