package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Known carries what one Load has learnt of large YAML files to the next one, so that
// jobs whose text has not changed are not parsed again. What Load returns is the same
// with and without it. The zero value knows nothing. It must not be used by two Loads
// at once.
type Known struct {
	files map[string]*knownFile // by absolute path
}

// knownFile holds the trees of the jobs of one file, by their text.
type knownFile struct {
	indent int // of the dashes before the jobs, in spaces
	trees  map[digest]string
}

type digest = [sha256.Size]byte

// reuseFrom is the size of a file in bytes from which on it is worth the memory.
const reuseFrom = 64 << 10

// yaml parses a YAML file.
func (l *loader) yaml(src *source) (*node, []problem) {
	if l.sources.Known == nil || len(src.text) < reuseFrom {
		return parseYAML(src)
	}
	return l.sources.Known.parse(src)
}

// parse parses a YAML file as far as it is not known already.
func (k *Known) parse(src *source) (*node, []problem) {
	if ps := checkText(src); ps != nil {
		return nil, ps
	}
	layout := layoutOf(src.text)
	if root := layout.parseChanged(src, k.files[src.path]); root != nil {
		k.remember(src.path, layout, root)
		return root, nil
	}
	delete(k.files, src.path)
	root, problems, anchors := parseDocument(src, src.text)
	if layout != nil && root != nil && len(problems) == 0 && !anchors && layout.fits(root, layout.items) {
		k.remember(src.path, layout, root)
	}
	return root, problems
}

// forget drops what is known of files that the newest Load has not read.
func (k *Known) forget(read map[string]*file) {
	for path := range k.files {
		if read[path] == nil {
			delete(k.files, path)
		}
	}
}

// remember replaces what is known of a file.
func (k *Known) remember(path string, layout *fileLayout, root *node) {
	old := k.files[path]
	f := &knownFile{indent: layout.indent, trees: make(map[digest]string, len(layout.items))}
	var buffer []byte
	for i, n := range root.get("jobs").items {
		item := &layout.items[i]
		if old != nil {
			if tree, ok := old.trees[item.digest]; ok {
				f.trees[item.digest] = tree
				continue
			}
		}
		buffer = appendTree(buffer[:0], n, item.line)
		f.trees[item.digest] = string(buffer)
	}
	if k.files == nil {
		k.files = make(map[string]*knownFile)
	}
	k.files[path] = f
}

// fileLayout is where the jobs of a YAML file stand in its text, as far as lines tell:
// whether a line that looks like the beginning of a job is one, only parsing can tell.
type fileLayout struct {
	indent int
	jobs   int32 // the line of the key jobs
	items  []itemText
	rest   int32 // the first line after the jobs that is no comment; 0: there is none
}

// itemText is the text of one job, with the comments up to the next one.
type itemText struct {
	from, to int // offsets; whole lines
	line     int32
	digest   digest
}

// layoutOf finds the list of jobs in a text: a line `jobs:`, and below it lines that
// begin with the same indentation and a dash, until one that is not indented at all. It
// returns nil if there is no such list.
func layoutOf(text []byte) *fileLayout {
	l := &fileLayout{indent: -1}
	at, number := 0, int32(0)
	for at < len(text) {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := bytes.TrimRight(text[at:end], " \r\n")
		number++
		body := bytes.TrimLeft(line, " ")
		indent := len(line) - len(body)
		switch {
		case len(body) == 0 || body[0] == '#':
		case l.jobs == 0:
			if tail, ok := bytes.CutPrefix(line, []byte("jobs:")); ok && (len(tail) == 0 || bytes.HasPrefix(bytes.TrimLeft(tail, " "), []byte("#"))) {
				l.jobs = number
			}
		case l.indent < 0 && isDash(body):
			l.indent = indent
			l.items = append(l.items, itemText{from: at, line: number})
		case l.indent < 0:
			return nil
		case indent == l.indent && isDash(body):
			l.items[len(l.items)-1].to = at
			l.items = append(l.items, itemText{from: at, line: number})
		case indent == 0:
			l.rest = number
			l.items[len(l.items)-1].to = at
			at = len(text)
			continue
		}
		at = end
	}
	if len(l.items) == 0 {
		return nil
	}
	if last := &l.items[len(l.items)-1]; last.to == 0 {
		last.to = len(text)
	}
	for i := range l.items {
		item := &l.items[i]
		item.digest = sha256.Sum256(text[item.from:item.to])
	}
	return l
}

// isDash reports whether a line without its indentation begins an entry of a list.
func isDash(body []byte) bool {
	return body[0] == '-' && (len(body) == 1 || body[1] == ' ' || body[1] == '\t')
}

// fits reports whether a parsed file has its jobs where the layout has them: the list at
// the key, one job in each of the given texts, and the next key where the rest begins.
// Then nothing that begins in one of these parts ends in another.
func (l *fileLayout) fits(root *node, items []itemText) bool {
	if root.kind != mapping {
		return false
	}
	rest := l.rest == 0
	found := false
	for i := range root.entries {
		e := &root.entries[i]
		rest = rest || e.pos.line == l.rest
		if e.key != "jobs" {
			continue
		}
		if found = e.pos.line == l.jobs && e.value.kind == list && len(e.value.items) == len(items); !found {
			return false
		}
		for k, n := range e.value.items {
			next := l.end(items[k].to)
			if n.line < items[k].line || next > 0 && n.lastLine() >= next {
				return false
			}
		}
	}
	return found && rest
}

// lastLine returns the last line on which a value of the tree begins. Where one is left
// out, that can be the line of whatever follows.
func (n *node) lastLine() int32 {
	last := n.line
	for i := range n.entries {
		last = max(last, n.entries[i].pos.line, n.entries[i].value.lastLine())
	}
	for _, item := range n.items {
		last = max(last, item.lastLine())
	}
	return last
}

// end returns the line at which the job after the offset begins, 0 behind the last one.
func (l *fileLayout) end(offset int) int32 {
	i, ok := slices.BinarySearchFunc(l.items, offset, func(item itemText, offset int) int { return item.from - offset })
	if !ok {
		return l.rest
	}
	return l.items[i].line
}

// parseChanged parses the file without the jobs that are known, of whose lines it
// leaves a comment, and puts these back in their places. It returns nil if that cannot be done,
// or could hide a mistake.
func (l *fileLayout) parseChanged(src *source, known *knownFile) *node {
	if l == nil || known == nil || known.indent != l.indent {
		return nil
	}
	trees := make([]string, len(l.items))
	var changed []itemText
	for i := range l.items {
		// One job is parsed in any case: there is no list without.
		if tree, ok := known.trees[l.items[i].digest]; ok && i > 0 {
			trees[i] = tree
		} else {
			changed = append(changed, l.items[i])
		}
	}
	if 2*len(changed) > len(l.items) {
		return nil
	}
	newlines := bytes.Repeat([]byte("\n"), bytes.Count(src.text, []byte("\n"))+1)
	text := make([]byte, 0, len(src.text))
	done := 0
	for i := range l.items {
		if item := &l.items[i]; trees[i] != "" {
			// The comment ends whatever the job before ends with, as the dash did.
			text = append(append(text, src.text[done:item.from]...), '#')
			text = append(text, newlines[:bytes.Count(src.text[item.from:item.to], newlines[:1])]...)
			done = item.to
		}
	}
	text = append(text, src.text[done:]...)
	root, problems, anchors := parseDocument(src, text)
	if root == nil || len(problems) > 0 || anchors || !l.fits(root, changed) {
		return nil
	}
	jobs := root.get("jobs")
	parsed := jobs.items
	jobs.items = make([]*node, len(l.items))
	for i := range l.items {
		if trees[i] == "" {
			jobs.items[i], parsed = parsed[0], parsed[1:]
			continue
		}
		d := treeReader{tree: trees[i], src: src, line: l.items[i].line}
		jobs.items[i] = d.node()
	}
	return root
}

// A tree is kept as bytes: of each value its kind, line (counted from where the item
// begins), column, and its text, its items, or its entries with their keys.

func appendTree(b []byte, n *node, line int32) []byte {
	b = append(b, byte(n.kind))
	b = appendPlace(b, n.pos, line)
	switch n.kind {
	case mapping:
		b = binary.AppendUvarint(b, uint64(len(n.entries)))
		for i := range n.entries {
			e := &n.entries[i]
			b = appendText(appendPlace(b, e.pos, line), e.key)
			b = appendTree(b, e.value, line)
		}
	case list:
		b = binary.AppendUvarint(b, uint64(len(n.items)))
		for _, item := range n.items {
			b = appendTree(b, item, line)
		}
	default:
		b = appendText(b, n.text)
	}
	return b
}

func appendPlace(b []byte, p pos, line int32) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.line-line)), uint64(p.column))
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// treeReader makes nodes of such bytes, at another place. Texts are parts of the tree.
type treeReader struct {
	tree string
	src  *source
	line int32
}

func (r *treeReader) number() int {
	n := 0
	for shift := 0; ; shift += 7 {
		c := r.tree[0]
		r.tree = r.tree[1:]
		n |= int(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
}

func (r *treeReader) place() pos {
	line := r.line + int32(r.number())
	return pos{r.src, line, int32(r.number())}
}

func (r *treeReader) text() string {
	n := r.number()
	text := r.tree[:n]
	r.tree = r.tree[n:]
	return text
}

func (r *treeReader) node() *node {
	n := &node{kind: kind(r.tree[0])}
	r.tree = r.tree[1:]
	n.pos = r.place()
	switch n.kind {
	case mapping:
		n.entries = make([]entry, r.number())
		for i := range n.entries {
			e := &n.entries[i]
			e.pos = r.place()
			e.key = r.text()
			e.value = r.node()
		}
	case list:
		n.items = make([]*node, r.number())
		for i := range n.items {
			n.items[i] = r.node()
		}
	default:
		n.text = r.text()
	}
	return n
}
