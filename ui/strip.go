package ui

import (
	"bytes"
	"path"
)

// strip takes from a module or a style sheet what only its authors need: comments that
// stand on lines of their own, and indentation. The lines stay, so that a browser names
// the line of the source where something fails. It rests on two habits of these files,
// which a test holds them to: a comment that begins a line ends one, and no text in quotes
// goes over several lines.
func strip(name string, source []byte) []byte {
	switch path.Ext(name) {
	case ".js", ".css":
	default:
		return source
	}
	out := make([]byte, 0, len(source))
	inside := false // a comment of several lines
	for line := range bytes.Lines(source) {
		text := bytes.TrimSpace(line)
		switch {
		case inside:
			inside = !bytes.HasSuffix(text, []byte("*/"))
		case bytes.HasPrefix(text, []byte("//")) && path.Ext(name) == ".js":
		case opensComment(text):
			inside = !bytes.HasSuffix(text, []byte("*/"))
		default:
			out = append(out, text...)
		}
		out = append(out, '\n')
	}
	return out
}

// opensComment reports whether a line begins with a comment and has nothing after it.
func opensComment(text []byte) bool {
	end := bytes.Index(text, []byte("*/"))
	return bytes.HasPrefix(text, []byte("/*")) && (end < 0 || end == len(text)-2)
}
