package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// include reads what a file includes, in order.
func (l *loader) include(f *file, paths *node) {
	for _, p := range paths.items {
		name := p.text
		if name == "" {
			l.fail(p.pos, "include", "an include without a path", "")
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(f.src.name), name)
		}
		path, err := filepath.Abs(name)
		if err != nil {
			l.fail(p.pos, "include", reason(err), "")
			continue
		}
		if i := slices.IndexFunc(l.chain, func(s *source) bool { return s.path == path }); i >= 0 {
			var names []string
			for _, s := range l.chain[i:] {
				names = append(names, s.name)
			}
			l.fail(p.pos, "include", "these files include each other: "+strings.Join(append(names, name), " → "), "")
			continue
		}
		if inc, ok := l.files[path]; ok {
			f.includes = append(f.includes, inc)
			continue
		}
		l.watch(path)
		text, err := readFile(path)
		if err != nil {
			l.fail(p.pos, "include", "cannot read "+name+": "+reason(err), "the path is relative to the folder of this file")
			l.files[path] = nil
			continue
		}
		src := &source{name: name, path: path, text: text, dialect: languageOf(filepath.Base(name), text)}
		f.includes = append(f.includes, l.read(src))
	}
}

// noteKept tells of defaults that stay in effect although another file is included
// after theirs: yacron2 1.2 took back with each include what the ones before it had set,
// unless the file itself sets it.
func (l *loader) noteKept(f *file, paths, own *node) {
	if paths == nil || len(paths.items) != len(f.includes) {
		return // reported as an error
	}
	for i, inc := range f.includes[:max(len(f.includes)-1, 0)] {
		if inc == nil {
			continue
		}
		over := []*node{own}
		for _, later := range f.includes[i+1:] {
			if later != nil {
				over = append(over, later.defaults)
			}
		}
		if kept := onlyIn(inc.defaults, over, jobKeys, ""); len(kept) > 0 {
			l.out.add(paths.items[i].pos, Diagnostic{Severity: Note, Key: "include",
				Message: "jobs of this file take " + andList(kept) + " from here; yacron2 1.2 took back what it set when it read the next include"})
		}
	}
}

// onlyIn lists the paths of the single values that n sets and none of the others does.
// Lists and mappings of free keys are left out: they were merged in 1.2, too.
func onlyIn(n *node, others []*node, f *field, prefix string) []string {
	var found []string
	if n == nil {
		return nil
	}
	for i := range n.entries {
		e := &n.entries[i]
		k := f.key(e.key)
		if k == nil {
			continue
		}
		var below []*node
		set := false
		for _, other := range others {
			if v := other.get(e.key); v != nil {
				below = append(below, v)
				set = set || v.kind == scalar
			}
		}
		switch {
		case e.value.kind == mapping && (k.kind == mapKind || k.kind == secretKind):
			found = append(found, onlyIn(e.value, below, k, prefix+spell(e.value, e.key)+".")...)
		case e.value.kind == scalar && !set:
			found = append(found, prefix+spell(e.value, e.key))
		}
	}
	return found
}
