package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of one file, far above honest use: what a file can make the loader hold in
// memory is limited before it is parsed.
const (
	maxFileSize = 32 << 20
	maxValues   = 2 << 20 // values of one file, and values that its aliases expand to
)

// problem is what is wrong with a file as such, before any schema.
type problem struct {
	at            pos
	message, hint string
	hide          bool // do not show the source line: it is part of a secret
}

// complaint is a problem whose line may be shown.
func complaint(at pos, message, hint string) problem {
	return problem{at: at, message: message, hint: hint}
}

// problems is one complaint as the whole result.
func problems(at pos, message, hint string) []problem {
	return []problem{complaint(at, message, hint)}
}

// parseYAML reads one YAML document. It returns nil without problems for a file that
// holds nothing but comments.
func parseYAML(src *source) (*node, []problem) {
	if ps := checkText(src); ps != nil {
		return nil, ps
	}
	n, problems, _ := parseDocument(src, src.text)
	return n, problems
}

// parseDocument reads one YAML document from a text that stands for the one of src, line
// by line. It also reports whether values are shared by anchors.
func parseDocument(src *source, text []byte) (n *node, ps []problem, anchors bool) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, problems(pos{src: src}, err.Error(), ""), false
	}
	var doc yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil, false
	case err != nil:
		return nil, []problem{yamlProblem(src, err)}, false
	}
	var second yaml.Node
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, []problem{yamlProblem(src, err)}, false
	default:
		return nil, problems(pos{src, int32(second.Line), int32(second.Column)}, "a second document begins here",
			"one file holds one document: remove the --- or split the file"), false
	}
	c := yamlConverter{src: src, sizes: map[*yaml.Node]int{}, shared: map[*yaml.Node]*node{}}
	if len(doc.Content) == 0 {
		return nil, nil, false
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 && root.Anchor == "" {
		return nil, nil, false // nothing but ---
	}
	n, _ = c.convert(root)
	if c.broken {
		n = nil
	}
	return n, c.problems, len(c.shared) > 0
}

// checkText refuses what no front end can read: too much, or not text.
func checkText(src *source) []problem {
	text := src.text
	if len(text) > maxFileSize {
		return problems(pos{src: src}, "the file has "+strconv.Itoa(len(text)>>20)+" MiB, the limit is "+strconv.Itoa(maxFileSize>>20), "split it")
	}
	if !utf8.Valid(text) {
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				return problems(src.place(i), "byte 0x"+strconv.FormatUint(uint64(text[i]), 16)+" is not UTF-8", "save the file as UTF-8")
			}
			i += size
		}
	}
	for i, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return problems(src.place(i), "control character 0x"+strconv.FormatUint(uint64(c), 16), "remove it")
		}
	}
	values := 1
	for _, sep := range []string{"\n", ",", ":", "[", "{", "- "} {
		values += bytes.Count(text, []byte(sep))
	}
	if values > maxValues {
		return problems(pos{src: src}, "the file holds too many values", "split it")
	}
	return nil
}

// yamlProblem turns a syntax error of the YAML library into a problem with a hint.
func yamlProblem(src *source, err error) problem {
	p := explainYAML(src, err)
	p.hide = src.inSecretBlock(int(p.at.line))
	return p
}

func explainYAML(src *source, err error) problem {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return complaint(pos{src: src}, "not YAML: "+err.Error(), "")
	}
	at := pos{src, int32(le.Mark.Line), int32(le.Mark.Column)}
	if strings.HasPrefix(le.ContextMsg, "while scanning an alias") || strings.HasPrefix(le.ContextMsg, "while scanning a quoted scalar") {
		at = pos{src, int32(le.ContextMark.Line), int32(le.ContextMark.Column)}
	}
	if at.line == 0 {
		at = pos{src: src}
	}
	line := src.line(int(at.line))
	rest := ""
	if runes := []rune(line); at.column > 0 && int(at.column) <= len(runes) {
		rest = string(runes[at.column-1:])
	}
	indented := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(indented, "\t") && (strings.HasPrefix(rest, "\t") || strings.Contains(le.Message, "tab")):
		at.column = int32(len(line)-len(indented)) + 1
		return complaint(at, "a tab indents this line", "indent with spaces: YAML does not allow tabs here")
	case strings.HasPrefix(rest, "*"):
		if i := strings.IndexByte(line, '*'); i >= 0 { // an alias may end before what is wrong
			at.column = int32(utf8.RuneCountInString(line[:i])) + 1
		}
		return complaint(at, "a value that begins with * is an alias in YAML", "put it in quotes, e.g. \"* * * * *\"")
	case strings.HasPrefix(le.Message, "unknown anchor"):
		return complaint(at, le.Message, "define it above with &, or put the value in quotes")
	case strings.HasPrefix(rest, "@"), strings.HasPrefix(rest, "%"), strings.HasPrefix(rest, "`"):
		return complaint(at, "a value cannot begin with "+rest[:1]+" in YAML", "put it in quotes")
	}
	if odd, name := oddBlank(src, at.line); name != "" {
		return complaint(odd, "a "+name+" stands here, which looks like a space and is none", "replace it by a plain space, or remove it")
	}
	switch {
	case strings.HasPrefix(le.Message, "mapping values are not allowed"):
		return complaint(at, "a key is not expected here", "check the indentation, or put a value that holds \": \" in quotes")
	case strings.HasPrefix(le.Message, "did not find expected key"), strings.HasPrefix(le.Message, "did not find expected '-' indicator"),
		strings.HasPrefix(le.Message, "did not find expected <document start>"):
		return complaint(at, "this line does not belong to what stands above it", "check the indentation and the quotes of the lines before")
	case strings.HasPrefix(le.ContextMsg, "while scanning a quoted scalar") && strings.Contains(le.Message, "end of stream"):
		return complaint(at, "this quote is never closed", "close it")
	case strings.HasPrefix(le.Message, "found unknown escape character"):
		return complaint(at, "unknown escape sequence in a string in double quotes", "write \\\\ for a backslash, or use single quotes")
	case strings.Contains(le.Message, "incompatible YAML document"):
		return complaint(at, "this %YAML directive is not supported", "remove the line")
	}
	message := le.Message
	if le.ContextMsg != "" {
		message = le.ContextMsg + ": " + message
	}
	return complaint(at, message, "")
}

// oddBlank looks in a line and the one above it for what editors and web pages put in the
// place of a space, and YAML takes for a letter.
func oddBlank(src *source, line int32) (at pos, name string) {
	for _, n := range []int32{line - 1, line} {
		for i, r := range []rune(src.line(int(n))) {
			if r > '~' && (unicode.Is(unicode.Zs, r) || unicode.Is(unicode.Cf, r)) {
				return pos{src, n, int32(i) + 1}, fmt.Sprintf("character %U", r)
			}
		}
	}
	return pos{}, ""
}

// yamlConverter turns YAML nodes into neutral ones.
type yamlConverter struct {
	src      *source
	problems []problem
	depth    int
	open     []*yaml.Node // the nodes above the current one, to see cycles
	shared   map[*yaml.Node]*node
	sizes    map[*yaml.Node]int // values that an anchored node expands to
	expanded int
	tooLarge bool
	broken   bool // the tree lacks parts: checking it would say wrong things
}

// maxDepth bounds the nesting of a file; the schema needs six levels.
const maxDepth = 100

func (c *yamlConverter) fail(n *yaml.Node, message, hint string) {
	if len(c.problems) < maxDiagnostics {
		c.problems = append(c.problems, complaint(c.pos(n), message, hint))
	}
}

func (c *yamlConverter) pos(n *yaml.Node) pos {
	return pos{c.src, int32(n.Line), int32(n.Column)}
}

// convert returns the neutral node and the number of values in it with every alias
// written out. It returns an empty scalar for what it refuses.
func (c *yamlConverter) convert(n *yaml.Node) (*node, int) {
	if n.Anchor != "" {
		if done, ok := c.shared[n]; ok {
			return done, c.sizes[n]
		}
	}
	out := &node{pos: c.pos(n)}
	size := 1
	if n.Style&yaml.TaggedStyle != 0 {
		c.fail(n, "the tag "+quote(n.Tag)+" has no meaning here", "remove it: the schema knows the type of each key")
	}
	if c.depth >= maxDepth {
		c.fail(n, "the file is nested too deeply", "")
		c.broken = true
		return out, size
	}
	if n.Anchor != "" {
		c.open = append(c.open, n)
		defer func() { c.open = c.open[:len(c.open)-1] }()
	}
	c.depth++
	defer func() { c.depth-- }()
	switch n.Kind {
	case yaml.ScalarNode:
		out.text = n.Value
	case yaml.SequenceNode:
		out.kind = list
		out.items = make([]*node, 0, len(n.Content))
		for _, item := range n.Content {
			v, s := c.convert(item)
			out.items = append(out.items, v)
			size = min(size+s, maxValues+1)
		}
	case yaml.MappingNode:
		out.kind = mapping
		size = c.mapping(n, out)
	case yaml.AliasNode:
		return c.alias(n)
	}
	if n.Anchor != "" {
		c.shared[n], c.sizes[n] = out, size
	}
	return out, size
}

// alias returns the anchored node itself: nothing is copied, but what it expands to
// is counted, since whoever walks the tree meets all of it.
func (c *yamlConverter) alias(n *yaml.Node) (*node, int) {
	for _, above := range c.open {
		if above == n.Alias {
			c.fail(n, "the alias *"+n.Value+" is part of what it stands for", "")
			c.broken = true
			return &node{pos: c.pos(n)}, 1
		}
	}
	out, size := c.convert(n.Alias)
	c.expanded += size
	if c.expanded > maxValues {
		if !c.tooLarge {
			c.fail(n, "the aliases of this file expand to too many values", "")
		}
		c.tooLarge, c.broken = true, true
		return &node{pos: c.pos(n)}, 1
	}
	return out, size
}

func (c *yamlConverter) mapping(n *yaml.Node, out *node) int {
	size := 1
	out.entries = make([]entry, 0, len(n.Content)/2)
	var places map[string]*yaml.Node // only for mappings too long to scan
	if len(n.Content) > 40 {
		places = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			c.fail(n.Content[i], "a key must be a plain word", "put a value that begins with [ or { in quotes")
			continue
		}
		if k.Style&yaml.TaggedStyle != 0 {
			c.fail(k, "the tag "+quote(k.Tag)+" has no meaning here", "remove it")
			continue
		}
		if first := c.find(out, places, k.Value); first > 0 {
			name := "this key"
			if plainKey.MatchString(k.Value) {
				name = "the key " + quote(k.Value)
			}
			c.fail(n.Content[i], name+" stands here again, it was first given at line "+strconv.Itoa(first), "keep one of the two")
			continue
		}
		if k.Tag == "!!merge" {
			merges = append(merges, v)
			if len(merges) > 1 {
				c.fail(n.Content[i], "the merge key << stands here again", "merge several mappings with one list: <<: [*a, *b]")
			}
			continue
		}
		value, s := c.convert(v)
		size = min(size+s+1, maxValues+1)
		out.entries = append(out.entries, entry{k.Value, c.pos(n.Content[i]), value})
		if places != nil {
			places[k.Value] = n.Content[i]
		}
	}
	for _, m := range merges {
		size = min(size+c.merge(m, out), maxValues+1)
	}
	return size
}

// find returns the line of a key that was met already, or 0.
func (c *yamlConverter) find(out *node, places map[string]*yaml.Node, key string) int {
	if places != nil {
		if k, ok := places[key]; ok {
			return k.Line
		}
		return 0
	}
	for i := range out.entries {
		if out.entries[i].key == key {
			return int(out.entries[i].pos.line)
		}
	}
	return 0
}

// merge adds the keys of a merge value that the mapping does not have itself. Of
// several mappings the earlier one wins.
func (c *yamlConverter) merge(n *yaml.Node, out *node) int {
	value, size := c.convert(n)
	parts := []*node{value}
	if value.kind == list {
		parts = value.items
	}
	have := make(map[string]bool, len(out.entries))
	for i := range out.entries {
		have[out.entries[i].key] = true
	}
	for _, part := range parts {
		if part.kind != mapping {
			c.fail(n, "the merge key << needs a mapping or a list of mappings", "write <<: *name")
			continue
		}
		for _, e := range part.entries {
			if !have[e.key] {
				have[e.key] = true
				out.entries = append(out.entries, e)
			}
		}
	}
	return size
}
