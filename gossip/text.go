package gossip

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds on text that a peer tells.
const (
	maxNameLen  = 256  // names, ids
	maxJobLen   = 128  // job names
	maxErrorLen = 300  // error texts
	maxSetLen   = 4096 // entries of a list
)

// printable reports whether s is 1 to most printable characters, the only form in which
// text of a peer gets any further.
func printable(s string, most int) bool {
	if s == "" || utf8.RuneCountInString(s) > most || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// clean makes text that may hold a peer's words fit for a log line or an API field:
// what is not printable becomes a question mark, and it ends after maxErrorLen
// characters.
func clean(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > maxErrorLen {
			b.WriteString("…")
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
