// Package gossip lets the agents of one cluster attest each other and claim firings
// from each other, without a store: a static list of peers, mutual TLS 1.3, and
// hashicorp/memberlist underneath.
//
// # Connections
//
// One listener takes TLS connections whose client certificate is signed by the
// cluster's CA. ALPN splits them: sessions of this package, and plain HTTPS for
// GET /peer. To every configured peer one outgoing session is kept open, dialled to
// the configured host with that host as the server name, so that the certificate must
// name it. A session starts with a hello in both directions (the accepting end speaks
// first) and is a yamux connection from there on:
//
//	TLS record layer
//	  hello            u16 length, JSON: protocol range, instance id
//	  yamux            one kind byte at the start of each stream:
//	    'p'            packets of memberlist, u16 length before each; one per session
//	    'm'            a stream of memberlist: push/pull, fallback ping
//	    'r'            one request and its answer, u32 length before each
//	    't'            questions of one byte for the time, 16 bytes in answer to each
//
// Which instance a configured host is, is learnt from the hello of the session that
// was dialled to that host, and from nowhere else.
//
// # Attestation
//
// A row of the view is written only from bytes that were read on a stream which this
// node opened on its own session to that host, under the instance id of that session's
// hello. What a peer pushes on its own initiative reaches memberlist (which accepts
// only instances bound to configured hosts) and no row.
//
// An exchange takes as many bytes as there are nodes. In a scheduled round this node
// fetches the whole state of one peer after the other; the others are asked whether the
// version that it has is still the newest, and the answer is as good as that state.
//
// # Claims
//
// Manager.Claim asks the peers over their sessions and counts votes; the rules of the
// vote are those of package election. All votes of a process, for peers and for itself,
// go through its one Voter, which may keep them in a VoteStore. A claim is answered only
// on a session whose certificate names the host that the claimant is bound to.
//
// # Clocks
//
// Claims rest on clocks that are close to each other. On every session that this node
// dialled it asks the peer for the time now and then, and shows by how much its clock
// is ahead, give or take half of what the round trip took. Nothing is decided by that.
//
// # Peers are members, not friends
//
// Every size, count and rate that a peer could drive is bounded: handshakes, sessions,
// streams and their bytes, packets, frames that yamux answers by itself, the messages
// and headers that memberlist gets to see, states, claims, and the exchanges that
// announcements lead to. What a peer says is decoded field by field, and text that is
// not printable goes nowhere.
//
// # Ownership
//
// A Manager owns every goroutine that it starts and waits for it in Stop. memberlist
// and yamux end theirs by themselves when they are shut down; for the one that outlives
// that, memberlist's last probe, Stop waits too.
package gossip
