package config

import (
	"strings"
	"unicode/utf8"
)

// kind is what a node is.
type kind uint8

const (
	scalar kind = iota
	mapping
	list
)

// pos is a place in a file. The zero pos is no place: a built-in value.
type pos struct {
	src          *source
	line, column int32 // from 1; column counts characters
}

// moved returns the place n characters further right.
func (p pos) moved(n int) pos {
	p.column += int32(n)
	return p
}

// node is one value of a file, whatever the file's language. Nodes are never changed
// once a front end has returned them, and may be shared (a YAML alias, defaults).
type node struct {
	kind kind
	bad  bool // what stood here was refused already: say nothing more about it
	pos
	text    string  // of scalars, as written: nothing is typed before the schema does
	entries []entry // of mappings, in order, keys unique
	items   []*node // of lists
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string // the schema's spelling, or the file's if the schema has no such key
	pos   pos    // of the key
	value *node
}

// get returns the value of a key of a mapping, or nil. It is nil-safe.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].value
		}
	}
	return nil
}

// blank reports whether n is a scalar without text: a key with nothing behind it.
func (n *node) blank() bool { return n.kind == scalar && n.text == "" }

// at returns the place of a byte of a scalar's text, or of the scalar itself if its
// text does not stand in the file as it is, on one line.
func (n *node) at(offset int) pos {
	if n.src == nil || n.line == 0 || offset > len(n.text) {
		return n.pos
	}
	runes := []rune(n.src.line(int(n.line)))
	start := min(max(int(n.column)-1, 0), len(runes))
	for lead := range 2 { // bare, or after a quote
		if rest := string(runes[min(start+lead, len(runes)):]); strings.HasPrefix(rest, n.text) {
			return n.moved(lead + utf8.RuneCountInString(n.text[:offset]))
		}
	}
	return n.pos
}
