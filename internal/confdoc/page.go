package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yacron2/yacron2/agent/config"
)

// part is one table of the page: the keys below a path of the schema.
type part struct {
	title string
	path  string // of the mapping; "" is the top level
	intro string
	id    bool // whether the keys can be part of the job-set id
	// skip are keys that are described elsewhere, and where.
	skip map[string]string
}

// page returns the whole page. It is an error if a key has no text, or a text no key.
func page() (string, error) {
	w := writer{unused: maps.Clone(texts)}
	w.WriteString(head)
	for _, p := range parts {
		w.part(p)
	}
	w.WriteString(tail)
	for key := range w.unused {
		w.problems = append(w.problems, fmt.Errorf("the text %q is of no key", key))
	}
	return w.String(), errors.Join(w.problems...)
}

type writer struct {
	strings.Builder
	unused   map[string]text
	problems []error
}

// find returns the mapping of a path.
func find(path string) (config.Key, bool) {
	at := config.Key{Keys: config.Schema()}
	if path == "" {
		return at, true
	}
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(at.Keys, func(k config.Key) bool { return k.Name == name })
		if i < 0 {
			return at, false
		}
		at = at.Keys[i]
	}
	return at, true
}

func (w *writer) part(p part) {
	at, ok := find(p.path)
	if !ok {
		w.problems = append(w.problems, fmt.Errorf("the schema has no %s", p.path))
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n", p.title)
	if p.intro != "" {
		fmt.Fprintf(w, "%s\n\n", p.intro)
	}
	w.WriteString("| key | in HCL | type | default | range |")
	if p.id {
		w.WriteString(" id |")
	}
	w.WriteString(" meaning |\n| --- | --- | --- | --- | --- |")
	if p.id {
		w.WriteString(" --- |")
	}
	w.WriteString(" --- |\n")
	w.rows(p, around{Key: at})
}

// around is the mapping that holds a key.
type around struct {
	config.Key
	shown, hcl string // what stands before its keys
}

// rows writes one line for each key of a mapping, those of mappings in it below them.
func (w *writer) rows(p part, in around) {
	for _, k := range in.Keys {
		where, elsewhere := p.skip[in.shown+k.Name]
		w.row(p, in, k, where)
		if !elsewhere {
			w.rows(p, around{k, in.shown + k.Name + ".", in.hcl + cmp.Or(k.Block, k.HCL) + "."})
		}
	}
}

func (w *writer) row(p part, in around, k config.Key, where string) {
	shown := in.shown + k.Name
	path := shown
	if p.path != "" {
		path = p.path + "." + shown
	}
	t, ok := texts[path]
	if !ok {
		w.problems = append(w.problems, fmt.Errorf("the key %q has no text", path))
	}
	delete(w.unused, path)
	kind := k.Type
	if k.Required {
		kind += ", required"
	}
	fallback := ""
	switch {
	case k.Default != nil && *k.Default == "":
		fallback = "empty"
	case k.Default != nil:
		fallback = "`" + *k.Default + "`"
	case t.fallback != "":
		fallback = t.fallback
	}
	about := t.about
	if where != "" {
		about += " " + where
	}
	row := []string{"`" + shown + "`", inHCL(in, k), kind, fallback, t.limits}
	if p.id {
		row = append(row, cmp.Or(t.id, "yes"))
	}
	row = append(row, about)
	for i, cell := range row {
		row[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	w.WriteString("| " + strings.Join(row, " | ") + " |\n")
}

// inHCL shows how HCL spells a key.
func inHCL(in around, k config.Key) string {
	plain := "`" + in.hcl + k.HCL + "`"
	block := "`" + in.hcl + k.Block + " { }`"
	switch {
	case in.Pairs:
		return ""
	case k.Name == in.Label:
		return "label of the block"
	case k.Block == "":
		return plain
	case k.Pairs:
		return "`" + in.hcl + k.Block + " { NAME = \"VALUE\" }`"
	case k.Label != "":
		return "`" + in.hcl + k.Block + " \"" + strings.ToUpper(k.Label) + "\" { }`"
	case strings.Contains(k.Type, " or "):
		return plain + " or " + block
	}
	return block
}
