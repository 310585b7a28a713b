package run

import "unicode/utf8"

// appendValid appends b to dst as valid UTF-8. Like most decoders, and unlike
// bytes.ToValidUTF8, it puts one U+FFFD for each maximal part of b that could have
// been the beginning of a rune, so that the number of replacement characters does
// not hide how much was broken.
func appendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n > 1 {
			dst = append(dst, b[:n]...)
		} else {
			n = brokenLen(b)
			dst = append(dst, "\uFFFD"...)
		}
		b = b[n:]
	}
	return dst
}

// brokenLen returns how many bytes at the start of b, which does not start with a
// valid rune, one replacement character stands for.
func brokenLen(b []byte) int {
	low, high, size := byte(0x80), byte(0xBF), 0
	switch lead := b[0]; {
	case lead >= 0xE0 && lead <= 0xEF:
		size = 3
		if lead == 0xE0 { // below: overlong
			low = 0xA0
		} else if lead == 0xED { // above: surrogates
			high = 0x9F
		}
	case lead >= 0xF0 && lead <= 0xF4:
		size = 4
		if lead == 0xF0 { // below: overlong
			low = 0x90
		} else if lead == 0xF4 { // above: beyond U+10FFFF
			high = 0x8F
		}
	default: // no lead byte, or a two-byte rune without its second byte
		return 1
	}
	n := 1
	for n < size-1 && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}
