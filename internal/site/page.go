package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is one page of the website.
type page struct {
	path    string // below the website
	source  string // below the source tree
	chapter string // "" for pages that the navigation lacks
	title   string
	summary string // its first paragraph, as plain text
	heads   []head // of its second level
	anchors map[string]bool
	links   []string // as they stand in the source, but for those to other hosts
	body    template.HTML
}

// head is a heading below the title.
type head struct{ ID, Text string }

// newPage makes a page of a Markdown text.
func newPage(to, source string, markdown []byte) (*page, error) {
	p := &page{path: to, source: source, anchors: map[string]bool{"content": true}} // of the template
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&blocks{}, 100))),
	)
	doc := md.Parser().Parse(text.NewReader(markdown))
	if err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, p.take(n, markdown)
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if p.title == "" {
		return nil, fmt.Errorf("%s: no title", source)
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, markdown, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	p.body = template.HTML(b.String()) //nolint:gosec // made of this source tree's own pages, where raw HTML is dropped
	return p, nil
}

// take notes what the page needs to know of a node, and turns links to sources into links
// to pages.
func (p *page) take(n ast.Node, source []byte) error {
	switch n := n.(type) {
	case *ast.Heading:
		id, _ := n.AttributeString("id")
		name, ok := id.([]byte)
		if !ok {
			return errors.New("a heading without an id")
		}
		p.anchors[string(name)] = true
		title := plain(n, source)
		switch {
		case n.Level == 1 && p.title != "":
			return fmt.Errorf("two titles: %q and %q", p.title, title)
		case n.Level == 1:
			p.title = title
		case p.title == "":
			return fmt.Errorf("%q stands before the title", title)
		case n.Level == 2:
			p.heads = append(p.heads, head{string(name), title})
		}
	case *ast.Paragraph:
		if p.summary == "" {
			p.summary = plain(n, source)
		}
	case *ast.Image:
		if plain(n, source) == "" {
			return errors.New("an image without a text for those who don't see it")
		}
		target := p.target(string(n.Destination))
		p.links = append(p.links, target)
		n.Destination = []byte(target)
	case *ast.Link:
		target := string(n.Destination)
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			return nil
		}
		target = p.target(target)
		p.links = append(p.links, target)
		n.Destination = []byte(target)
	}
	return nil
}

// target turns a link within the source tree into one within the website.
func (p *page) target(link string) string {
	file, anchor, found := strings.Cut(link, "#")
	if file == "" {
		return link
	}
	at := path.Join(path.Dir(p.source), file) // below the source tree
	for to, from := range copied() {
		if at == from {
			at = to
		}
	}
	for name, from := range rootPages() {
		if at == from {
			at = name + ".md"
		}
	}
	at = strings.TrimPrefix(at, "website/")
	if path.Ext(at) == ".md" {
		at = htmlPath(at)
	}
	to := relative(p.path, at)
	if found {
		to += "#" + anchor
	}
	return to
}

// relative is the link from one file of the website to another.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
