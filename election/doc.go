// Package election decides, and does nothing else: values in, verdicts out. It has no
// clock, no goroutine, no I/O and no hidden state; instants and randomness are
// arguments, and the voter's state is a value that its owner keeps.
package election
