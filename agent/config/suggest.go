package config

import "strings"

// nearest returns the candidate that most resembles a word, or "" if none is near:
// the same letters in another case or with other separators, few typing errors, or
// one cut off.
func nearest(word string, candidates []string) string {
	plain := plainWord(word)
	if len(plain) > 100 {
		return "" // no name is that long
	}
	best, distance := "", len([]rune(plain))/4+2
	for _, c := range candidates {
		p := plainWord(c)
		if p == plain {
			return c
		}
		d := typingErrors(plain, p)
		if short := min(len(p), len(plain)); short >= 4 && p[:short] == plain[:short] {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = c, d
		}
	}
	return best
}

// separators are what people mix up between the parts of a name.
var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func plainWord(s string) string { return separators.Replace(strings.ToLower(s)) }

// typingErrors counts the letters missing, added, replaced or exchanged with their
// neighbour between two words.
func typingErrors(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			differ := 1
			if s[i-1] == t[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
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
