package config

import (
	"strings"

	"github.com/agext/levenshtein"
)

// nearest returns the candidate that most resembles a word, or "" if none is near:
// the same letters in another case or with other separators, or few typing errors.
func nearest(word string, candidates []string) string {
	plain := plainWord(word)
	best, distance := "", len([]rune(plain))/4+2
	for _, c := range candidates {
		p := plainWord(c)
		if p == plain {
			return c
		}
		if abs(len(p)-len(plain)) >= distance {
			continue
		}
		if d := levenshtein.Distance(plain, p, nil); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// separators are what people mix up between the parts of a name.
var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func plainWord(s string) string { return separators.Replace(strings.ToLower(s)) }

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// whereKey returns the paths of all mappings of the schema that have a key of this
// name, for a key that was written at the wrong place.
func whereKey(root *field, name string, d dialect) []string {
	var found []string
	var walk func(f *field, path string)
	walk = func(f *field, path string) {
		for _, k := range f.keys {
			below := k.spelled(d)
			if path != "" {
				below = path + "." + below
			}
			if k.spelled(d) == name {
				found = append(found, below)
			}
			for _, next := range []*field{k, k.elem, k.other} {
				if next != nil && next.kind == mapKind {
					walk(next, below)
				}
			}
			if k.other != nil && k.other.elem != nil && k.other.elem.kind == mapKind {
				walk(k.other.elem, below)
			}
		}
	}
	walk(root, "")
	return found
}
