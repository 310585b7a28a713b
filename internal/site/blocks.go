package main

import (
	"bytes"
	"fmt"
	"html"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// blocks renders what goldmark alone would render too plainly: blocks of code with their
// colours, equal ones in several languages behind tabs, tables that scroll.
type blocks struct{ tabs int }

// RegisterFuncs implements renderer.NodeRenderer.
func (b *blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, b.fenced)
	r.Register(ast.KindCodeBlock, b.indented)
	r.Register(ast.KindHeading, b.heading)
	r.Register(ast.KindHTMLBlock, skip) // comments to the tests
	r.Register(extast.KindTable, b.table)
}

func skip(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func (b *blocks) indented(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintf(w, "<pre tabindex=\"0\"><code>%s</code></pre>\n", coloured("sh", lines(n, source)))
	}
	return ast.WalkSkipChildren, nil
}

// fenced renders a block, together with those that follow it directly in other
// languages: they say the same.
func (b *blocks) fenced(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := n.(*ast.FencedCodeBlock)
	if !entering || !ok || joins(block, source) {
		return ast.WalkSkipChildren, nil
	}
	same := []*ast.FencedCodeBlock{block}
	for next := follower(block); next != nil && joins(next, source); next = follower(next) {
		same = append(same, next)
	}
	if len(same) == 1 {
		writeCode(w, block, source)
		return ast.WalkSkipChildren, nil
	}
	b.tabs++
	fmt.Fprint(w, "<fieldset class=\"tabs\"><legend>The same in each language</legend>\n")
	for i, s := range same {
		checked := ""
		if i == 0 {
			checked = " checked"
		}
		fmt.Fprintf(w, "<input type=\"radio\" name=\"tabs-%d\" id=\"tabs-%d-%d\"%s><label for=\"tabs-%d-%d\">%s</label>\n",
			b.tabs, b.tabs, i, checked, b.tabs, i, languageName(string(s.Language(source))))
	}
	for _, s := range same {
		writeCode(w, s, source)
	}
	fmt.Fprint(w, "</fieldset>\n")
	return ast.WalkSkipChildren, nil
}

func writeCode(w util.BufWriter, n *ast.FencedCodeBlock, source []byte) {
	language := string(n.Language(source))
	fmt.Fprintf(w, "<pre tabindex=\"0\" class=\"language-%s\"><code>%s</code></pre>\n",
		html.EscapeString(language), coloured(language, lines(n, source)))
}

// joins reports whether a block says the same as the one directly before it. HCL is
// always the last of those that do.
func joins(n *ast.FencedCodeBlock, source []byte) bool {
	before, ok := previous(n).(*ast.FencedCodeBlock)
	return ok && isConfiguration(before, source) && isConfiguration(n, source) &&
		string(before.Language(source)) != "hcl"
}

func isConfiguration(n *ast.FencedCodeBlock, source []byte) bool {
	switch string(n.Language(source)) {
	case "yaml", "hcl", "crontab":
		return true
	}
	return false
}

// previous is the block before n that shows, nil if there is none.
func previous(n ast.Node) ast.Node {
	n = n.PreviousSibling()
	for n != nil && n.Kind() == ast.KindHTMLBlock {
		n = n.PreviousSibling()
	}
	return n
}

func follower(n ast.Node) *ast.FencedCodeBlock {
	next := n.NextSibling()
	for next != nil && next.Kind() == ast.KindHTMLBlock {
		next = next.NextSibling()
	}
	block, _ := next.(*ast.FencedCodeBlock)
	return block
}

func languageName(language string) string {
	return map[string]string{"yaml": "YAML", "hcl": "HCL", "crontab": "crontab"}[language]
}

// heading adds to each heading a link to itself.
func (b *blocks) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h, ok := n.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	id, _ := h.AttributeString("id")
	name, _ := id.([]byte)
	switch {
	case entering:
		fmt.Fprintf(w, "<h%d id=\"%s\">", h.Level, name)
	case h.Level == 1:
		fmt.Fprintf(w, "</h%d>\n", h.Level)
	default:
		fmt.Fprintf(w, " <a class=\"here\" href=\"#%s\" aria-label=\"Link to this section\">#</a></h%d>\n", name, h.Level)
	}
	return ast.WalkContinue, nil
}

// table lets a table scroll where it is wider than the page.
func (b *blocks) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprint(w, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\n")
	} else {
		fmt.Fprint(w, "</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// lines is the text of a block of code.
func lines(n ast.Node, source []byte) string {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	return b.String()
}
