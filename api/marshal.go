package api

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Marshal returns v as JSON in plain ASCII: other characters are written as \uXXXX,
// as surrogate pairs beyond the basic plane, so that no reader can take the text for
// another encoding.
func Marshal(v any) ([]byte, error) {
	data, err := encode(v)
	if err != nil {
		return nil, err
	}
	return ascii(data), nil
}

// encode is json.Marshal without the escapes that only a page's script block needs.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// ascii escapes the non-ASCII characters of a JSON text. They occur inside strings
// only, and the encoder has made them valid UTF-8.
func ascii(data []byte) []byte {
	first := plainPrefix(data)
	if first == len(data) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/4+16)
	for rest := data; len(rest) > 0; first = plainPrefix(rest) {
		out, rest = append(out, rest[:first]...), rest[first:]
		if len(rest) == 0 {
			break
		}
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		switch {
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, r)
		}
	}
	return out
}

// plainPrefix is how many bytes come before the first that is not ASCII.
func plainPrefix(data []byte) int {
	for i, c := range data {
		if c >= utf8.RuneSelf {
			return i
		}
	}
	return len(data)
}

func appendEscape(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}
