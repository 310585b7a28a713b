// Package nettest tests clusters of real agents in networks that fail: cut, cut in one
// direction, lossy, thin, and with names that move. "make netns" runs it; see package
// netcluster for what it needs.
package nettest
