package run

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ringTexts(r *lineRing, from int) []string {
	var texts []string
	r.each(from, func(text []byte, tag uint8) bool {
		texts = append(texts, string(text)+"/"+string('0'+rune(tag)))
		return true
	})
	return texts
}

// TestLineRing compares the ring with a slice that forgets its first elements.
func TestLineRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxLines := rapid.IntRange(1, 40).Draw(t, "maxLines")
		maxBytes := rapid.IntRange(0, 300).Draw(t, "maxBytes")
		ring := lineRing{maxLines: maxLines, maxBytes: maxBytes}
		var model []string
		size := func() (n int) {
			for _, m := range model {
				n += len(m) - 2
			}
			return n
		}
		for range rapid.IntRange(0, 120).Draw(t, "pushes") {
			text := rapid.StringMatching(`[a-z]{0,30}`).Draw(t, "text")
			if rapid.IntRange(0, 19).Draw(t, "long") == 0 {
				text = strings.Repeat("L", rapid.IntRange(31, 900).Draw(t, "length"))
			}
			tag := rapid.Uint8Range(0, 1).Draw(t, "tag")
			evicted := ring.push([]byte(text), tag)
			model = append(model, text+"/"+string('0'+rune(tag)))
			gone := 0
			for len(model) > 1 && (len(model) > maxLines || size() > maxBytes) {
				model = model[1:]
				gone++
			}
			if evicted != gone {
				t.Fatalf("evicted %d, want %d", evicted, gone)
			}
			if rapid.IntRange(0, 30).Draw(t, "compact") == 0 {
				ring.compact()
			}
			if got := ringTexts(&ring, 0); !slices.Equal(got, model) {
				t.Fatalf("ring %q, want %q", got, model)
			}
			from := rapid.IntRange(0, len(model)).Draw(t, "from")
			if got := ringTexts(&ring, from); !slices.Equal(got, model[from:]) {
				t.Fatalf("from %d: ring %q, want %q", from, got, model[from:])
			}
			if longest := slices.MaxFunc(model, func(a, b string) int { return len(a) - len(b) }); len(ring.buf) > max(256, 2*maxBytes, 900, len(longest)) {
				t.Fatalf("a buffer of %d bytes for at most %d", len(ring.buf), maxBytes)
			}
		}
	})
}
