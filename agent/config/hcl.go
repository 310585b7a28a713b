package config

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxHCLSize bounds an HCL file: its parser takes about a hundred times the memory of
// the text in the worst case.
const maxHCLSize = 8 << 20

// parseHCL reads one HCL file. The language is used for values only: strings, numbers,
// lists, objects, and the functions env and file where a secret is expected. What the
// shell means with ${ and %{ is refused with the way to escape it, never replaced.
func parseHCL(src *source) (*node, []problem) {
	if ps := checkText(src); ps != nil {
		return nil, ps
	}
	if len(src.text) > maxHCLSize {
		return nil, problems(pos{src: src}, "the file is larger than "+strconv.Itoa(maxHCLSize>>20)+" MiB", "split it")
	}
	if i := looksLikeYAML.FindSubmatchIndex(src.text); i != nil {
		return nil, problems(src.place(i[2]), "this is not HCL", "if it is YAML, let the file's name end in .yaml")
	}
	text, start := src.text, hcl.InitialPos
	if trimmed, ok := bytes.CutPrefix(text, []byte("\ufeff")); ok {
		text, start.Byte = trimmed, len("\ufeff")
	}
	c := hclConverter{src: src}
	tokens, _ := hclsyntax.LexConfig(text, src.name, start)
	if c.tokens(tokens); len(c.problems) > 0 {
		return nil, c.problems
	}
	file, ds := hclsyntax.ParseConfig(text, src.name, start)
	for _, d := range ds {
		if d.Severity == hcl.DiagError {
			c.diagnostic(d)
		}
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || len(body.Attributes) == 0 && len(body.Blocks) == 0 {
		return nil, nil
	}
	return c.body(body, fileKeys, pos{src, 1, 1}), c.problems
}

// hclConverter turns the syntax tree of an HCL file into neutral nodes.
type hclConverter struct {
	src      *source
	problems []problem
}

func (c *hclConverter) fail(at pos, message, hint string) {
	if len(c.problems) < maxDiagnostics {
		c.problems = append(c.problems, complaint(at, message, hint))
	}
}

func (c *hclConverter) pos(r hcl.Range) pos { return c.src.place(min(r.Start.Byte, len(c.src.text))) }

// textOf returns the text of a range as it stands in the file.
func (c *hclConverter) textOf(r hcl.Range) string {
	return string(c.src.text[min(r.Start.Byte, len(c.src.text)):min(r.End.Byte, len(c.src.text))])
}

// tokens refuses, before the parser sees them, templates and operators, and nesting
// that would exhaust its stack.
func (c *hclConverter) tokens(tokens hclsyntax.Tokens) {
	key := "" // the last name before a value, to know whether it is a secret's
	var open []string
	for i := 0; i < len(tokens); i++ {
		t := &tokens[i]
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen:
			if open = append(open, key); len(open) > maxDepth {
				c.fail(c.pos(t.Range), "the file is nested too deeply", "")
				return
			}
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
			open = open[:max(len(open)-1, 0)]
		case hclsyntax.TokenIdent:
			key = string(t.Bytes)
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			i = c.template(tokens, i, secretWord.MatchString(key) || slices.ContainsFunc(open, secretBlock.MatchString))
		case hclsyntax.TokenApostrophe:
			c.fail(c.pos(t.Range), "a text stands in double quotes in HCL", "")
			i = endOfLine(tokens, i)
		case hclsyntax.TokenMinus:
			if i+1 < len(tokens) && tokens[i+1].Type == hclsyntax.TokenNumberLit {
				continue
			}
			c.operator(t)
			i = endOfLine(tokens, i)
		case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenPercent, hclsyntax.TokenDot,
			hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
			hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenBang,
			hclsyntax.TokenQuestion, hclsyntax.TokenEllipsis, hclsyntax.TokenFatArrow, hclsyntax.TokenDoubleColon:
			c.operator(t)
			i = endOfLine(tokens, i)
		}
	}
}

func (c *hclConverter) operator(t *hclsyntax.Token) {
	c.fail(c.pos(t.Range), quote(string(t.Bytes))+" is not expected here: a configuration holds values, not expressions", "put a text in double quotes")
}

// endOfLine returns the last token of the line of a token: one message a line.
func endOfLine(tokens hclsyntax.Tokens, i int) int {
	for i+1 < len(tokens) && tokens[i+1].Type != hclsyntax.TokenNewline && tokens[i+1].Type != hclsyntax.TokenEOF {
		i++
	}
	return i
}

// template reports a template sequence and returns the token that ends it.
func (c *hclConverter) template(tokens hclsyntax.Tokens, i int, sealed bool) int {
	first := tokens[i]
	open := 0
	end := i
	for ; end < len(tokens); end++ {
		switch tokens[end].Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			open++
		case hclsyntax.TokenTemplateSeqEnd:
			open--
		}
		if open == 0 {
			break
		}
	}
	end = min(end, len(tokens)-1)
	at := c.pos(first.Range)
	body := strings.TrimSuffix(string(first.Bytes), "~")
	text, _, _ := strings.Cut(c.textOf(hcl.RangeBetween(first.Range, tokens[end].Range)), "\n")
	if sealed || len(text) > 60 {
		text = body + "…}"
	}
	if len(c.problems) < maxDiagnostics {
		c.problems = append(c.problems, problem{at: at, hide: sealed,
			message: quote(text) + " is a template in HCL, and templates are not supported",
			hint:    "for the text itself write " + body[:1] + text + ", with " + body[:1] + " doubled"})
	}
	return end
}

// secretWord matches the names of keys that hold secrets.
var secretWord = regexp.MustCompile(`(?i)^(value|password|auth_?token|token|dsn|url)$`)

// secretBlock matches the names of blocks and objects whose values may be secrets.
var secretBlock = regexp.MustCompile(`^(environment|headers)$`)

// looksLikeYAML matches a file that begins as YAML or JSON do, below its comments.
var looksLikeYAML = regexp.MustCompile(`\A(?:\x{feff})?(?:[ \t]*(?:#[^\n]*)?\r?\n)*(---|\{|(?:include|defaults|jobs|web|cluster|logging):)`)

var firstSetAt = regexp.MustCompile(`:(\d+),\d+`)

// diagnostic turns a complaint of the parser into a problem.
func (c *hclConverter) diagnostic(d *hcl.Diagnostic) {
	at := pos{src: c.src}
	if d.Subject != nil {
		at = c.pos(*d.Subject)
	}
	if d.Summary == "Attribute redefined" && d.Subject != nil {
		line := "above"
		if m := firstSetAt.FindStringSubmatch(d.Detail); m != nil {
			line = "at line " + m[1]
		}
		c.fail(at, "the key "+quote(c.textOf(*d.Subject))+" stands here again, it was first given "+line, "keep one of the two")
		return
	}
	detail, hint, _ := strings.Cut(d.Detail, ". ")
	message := strings.ToLower(d.Summary[:1]) + d.Summary[1:]
	if detail != "" {
		message += ": " + strings.TrimSuffix(detail, ".")
	}
	switch {
	case hint != "":
	case d.Summary == "Invalid argument name":
		hint = `a name that needs quotes needs an object: environment = { "A-B" = "c" }`
	case d.Summary == "Unterminated template string":
		hint = "close the quote, or write the word that ends the heredoc alone on a line"
	}
	c.fail(at, message, strings.TrimSuffix(hint, "."))
}

// part is an attribute or a block of a body.
type part struct {
	at        int // byte offset
	attribute *hclsyntax.Attribute
	block     *hclsyntax.Block
}

// parts returns what a body holds in the order of the file.
func parts(body *hclsyntax.Body) []part {
	out := make([]part, 0, len(body.Attributes)+len(body.Blocks))
	for _, a := range body.Attributes {
		out = append(out, part{at: a.NameRange.Start.Byte, attribute: a})
	}
	for _, b := range body.Blocks {
		out = append(out, part{at: b.TypeRange.Start.Byte, block: b})
	}
	slices.SortFunc(out, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	return out
}

// body converts the body of a block (or of the file) to a mapping.
func (c *hclConverter) body(body *hclsyntax.Body, f *field, at pos) *node {
	out := &node{kind: mapping, pos: at}
	for _, p := range parts(body) {
		if p.attribute != nil {
			a := p.attribute
			key, value := c.attribute(a.Name, c.pos(a.NameRange), a.Expr, f)
			c.add(out, key, c.pos(a.NameRange), value)
			continue
		}
		c.block(out, p.block, f)
	}
	if len(out.entries) > 0 {
		out.pos = out.entries[0].pos
	}
	return out
}

// add appends a key, once.
func (c *hclConverter) add(out *node, key string, at pos, value *node) {
	if first := out.find(key); first != nil {
		c.fail(at, "the key "+quote(key)+" stands here again, it was first given at line "+strconv.Itoa(int(first.pos.line)), "keep one of the two")
		return
	}
	out.entries = append(out.entries, entry{key, at, value})
}

// find returns the entry of a key, or nil.
func (n *node) find(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// hclKey returns the field that a file spells name, or nil.
func (f *field) hclKey(name string) *field {
	for _, k := range f.keys {
		if k.hclName == name {
			return k
		}
	}
	return nil
}

// attribute converts one name with its value. A secret's value may be a call of env or
// file, which is what the keys fromEnvVar and fromFile are in YAML.
func (c *hclConverter) attribute(name string, at pos, expr hclsyntax.Expression, f *field) (string, *node) {
	k := f.hclKey(name)
	if camel := f.key(name); k == nil && camel != nil {
		c.fail(at, "the key "+quote(name)+" is written "+camel.hclName+" in HCL", "")
		return name, &node{pos: at, bad: true}
	}
	if k == nil { // free keys, or unknown ones
		return name, c.value(expr, freeValue)
	}
	if call, ok := expr.(*hclsyntax.FunctionCallExpr); ok && k.name == "value" && f.key("fromEnvVar") != nil {
		return c.call(call)
	}
	return k.name, c.value(expr, k)
}

// freeValue stands for a key without a schema of its own.
var freeValue = anything("")

// block converts a block: an element of a list, or a mapping.
func (c *hclConverter) block(out *node, b *hclsyntax.Block, f *field) {
	at := c.pos(b.TypeRange)
	var k *field
	for _, candidate := range f.keys {
		if candidate.block == b.Type {
			k = candidate
		}
	}
	switch {
	case k == nil && f.kind == anyKind:
		inner := c.body(b.Body, freeValue, at)
		for i := len(b.Labels) - 1; i >= 0; i-- {
			inner = &node{kind: mapping, pos: at, entries: []entry{{b.Labels[i], c.pos(b.LabelRanges[i]), inner}}}
		}
		c.add(out, b.Type, at, inner)
		return
	case k == nil:
		if known := f.hclKey(b.Type); known != nil {
			hint := "write " + known.hclName + " = ..."
			if known.block != "" {
				hint = "write one block for each: " + known.block + " \"...\" { ... }"
			}
			c.fail(at, quote(b.Type)+" is not the name of a block", hint)
			return
		}
		c.unknownBlock(b.Type, at, f)
		return
	}
	want := 0
	if k.label != "" {
		want = 1
	}
	if len(b.Labels) != want {
		if want == 0 {
			c.fail(c.pos(b.LabelRanges[0]), "a block "+b.Type+" has no label", "write "+b.Type+" { ... }")
		} else {
			c.fail(at, "a block "+b.Type+" needs one label, its "+snakeCase(k.label), "write "+b.Type+" \"...\" { ... }")
		}
		return
	}
	switch {
	case k.pairs:
		c.add(out, k.name, at, c.pairsOf(c.body(b.Body, freeValue, at)))
	case k.kind == listKind:
		item := &node{kind: mapping, pos: at}
		if want == 1 {
			label := c.pos(b.LabelRanges[0])
			item.entries = append(item.entries, entry{k.label, label, &node{pos: label, text: b.Labels[0]}})
		}
		for _, e := range c.body(b.Body, k.elem, at).entries {
			c.add(item, e.key, e.pos, e.value)
		}
		if e := out.find(k.name); e != nil && e.value.kind == list {
			e.value.items = append(e.value.items, item)
			return
		}
		c.add(out, k.name, at, &node{kind: list, pos: at, items: []*node{item}})
	case k.kind == eitherKind:
		c.add(out, k.name, at, c.body(b.Body, k.other, at))
	default:
		c.add(out, k.name, at, c.body(b.Body, k, at))
	}
}

func (c *hclConverter) unknownBlock(name string, at pos, f *field) {
	var blocks []string
	for _, k := range f.keys {
		if k.block != "" {
			blocks = append(blocks, k.block)
		}
	}
	hint := ""
	if near := nearest(name, blocks); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(blocks) > 0 {
		hint = "the blocks here are " + andList(blocks)
	}
	c.fail(at, "unknown block "+quote(name), hint)
}

// pairsOf turns a mapping into the list of {key, value} that the schema has for it.
func (c *hclConverter) pairsOf(n *node) *node {
	out := &node{kind: list, pos: n.pos}
	for _, e := range n.entries {
		out.items = append(out.items, &node{kind: mapping, pos: e.pos, entries: []entry{
			{"key", e.pos, &node{pos: e.pos, text: e.key}}, {"value", e.value.pos, e.value},
		}})
	}
	return out
}

// value converts an expression to a node for a key.
func (c *hclConverter) value(expr hclsyntax.Expression, k *field) *node {
	at := c.pos(expr.Range())
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.value(e.Expression, k)
	case *hclsyntax.LiteralValueExpr:
		text := c.textOf(e.SrcRange)
		if e.Val.IsNull() {
			text = ""
		}
		return c.scalar(&node{pos: at, text: text}, k)
	case *hclsyntax.UnaryOpExpr:
		return c.scalar(&node{pos: at, text: strings.ReplaceAll(c.textOf(e.SrcRange), " ", "")}, k)
	case *hclsyntax.TemplateExpr:
		v, ds := e.Value(nil)
		if !ds.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			return c.scalar(&node{pos: at, text: v.AsString()}, k)
		}
	case *hclsyntax.TupleConsExpr:
		return c.list(e, k, at)
	case *hclsyntax.ObjectConsExpr:
		return c.object(e, k, at)
	case *hclsyntax.FunctionCallExpr:
		if k.kind == secretKind {
			key, value := c.call(e)
			return &node{kind: mapping, pos: at, entries: []entry{{key, at, value}}}
		}
		c.fail(at, "a function cannot be called here", "env and file give secrets only: password, dsn, url, token and the like")
		return &node{pos: at, bad: true}
	case *hclsyntax.ScopeTraversalExpr:
		name := c.textOf(e.SrcRange)
		if k.secret() || c.src.belowSecret(int(at.line)) {
			c.fail(at, "this is not a value", "put a text in double quotes")
		} else {
			c.fail(at, quote(name)+" is not a value", "put a text in double quotes: "+strconv.Quote(name))
		}
		return &node{pos: at, bad: true}
	}
	c.fail(at, "this is not a plain value", "write a text, a number, true, false, a list or an object")
	return &node{pos: at, bad: true}
}

// scalar returns a scalar as the value of a key: of a secret, its value.
func (c *hclConverter) scalar(n *node, k *field) *node {
	if k.kind == secretKind {
		return &node{kind: mapping, pos: n.pos, entries: []entry{{"value", n.pos, n}}}
	}
	return n
}

func (c *hclConverter) list(e *hclsyntax.TupleConsExpr, k *field, at pos) *node {
	out := &node{kind: list, pos: at, items: make([]*node, 0, len(e.Exprs))}
	elem := freeValue
	for _, form := range []*field{k, k.other} {
		if form != nil && form.kind == listKind {
			elem = form.elem
		}
	}
	for _, item := range e.Exprs {
		v := c.value(item, elem)
		if v.kind == scalar && k.label != "" && len(elem.keys) == 1 {
			// A list of names for elements that are nothing but their name.
			v = &node{kind: mapping, pos: v.pos, entries: []entry{{k.label, v.pos, v}}}
		}
		out.items = append(out.items, v)
	}
	return out
}

func (c *hclConverter) object(e *hclsyntax.ObjectConsExpr, k *field, at pos) *node {
	form := k
	if k.kind == eitherKind {
		form = k.other
	}
	out := &node{kind: mapping, pos: at}
	for _, item := range e.Items {
		keyAt := c.pos(item.KeyExpr.Range())
		name, ok := c.objectKey(item.KeyExpr)
		if !ok {
			c.fail(keyAt, "a key must be a plain word or a text", "")
			continue
		}
		key, value := c.attribute(name, keyAt, item.ValueExpr, form)
		c.add(out, key, keyAt, value)
	}
	if k.pairs {
		return c.pairsOf(out)
	}
	return out
}

func (c *hclConverter) objectKey(expr hclsyntax.Expression) (string, bool) {
	if wrapped, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok && !wrapped.ForceNonLiteral {
		if name := hcl.ExprAsKeyword(wrapped.Wrapped); name != "" {
			return name, true
		}
		expr = wrapped.Wrapped
	}
	switch expr.(type) {
	case *hclsyntax.TemplateExpr, *hclsyntax.LiteralValueExpr:
		v, ds := expr.Value(nil)
		if !ds.HasErrors() && v.Type() == cty.String && !v.IsNull() {
			return v.AsString(), true
		}
	}
	return "", false
}

// call converts env("NAME") and file("path").
func (c *hclConverter) call(e *hclsyntax.FunctionCallExpr) (string, *node) {
	at := c.pos(e.NameRange)
	key := map[string]string{"env": "fromEnvVar", "file": "fromFile"}[e.Name]
	if key == "" {
		hint := "the functions are env and file"
		c.fail(at, "unknown function "+quote(e.Name), hint)
		return "value", &node{pos: at, bad: true}
	}
	if len(e.Args) != 1 || e.ExpandFinal {
		c.fail(at, e.Name+" takes one text", "write "+e.Name+`("...")`)
		return key, &node{pos: at, bad: true}
	}
	return key, c.value(e.Args[0], freeValue)
}
