package report

import "strings"

// stripANSI removes terminal control sequences: colours and cursor movement (CSI),
// titles and links (OSC) and the two-byte escapes.
func stripANSI(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexByte(text, 0x1b)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i+escapeLen(text[i:]):]
	}
}

// escapeLen returns the length of the sequence that begins s with an escape.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch c := s[1]; {
	case c == '[': // parameters and intermediates, then one final byte
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x3f:
				return i // broken off
			}
		}
		return len(s)
	case c == ']' || c == 'P' || c == '^' || c == '_': // a string up to BEL or ESC \
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i // broken off
			}
		}
		return len(s)
	case c >= 0x20 && c <= 0x2f: // intermediates, then one final byte
		for i := 2; i < len(s); i++ {
			if s[i] < 0x20 || s[i] > 0x2f {
				return i + 1
			}
		}
		return len(s)
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}
