package main

import (
	"bytes"
	"embed"
	"html/template"
)

//go:embed theme
var themeFiles embed.FS

// theme is what all pages look like.
type theme struct {
	template    *template.Template
	style, icon []byte
}

func newTheme() (*theme, error) {
	t := &theme{}
	var err error
	if t.style, err = themeFiles.ReadFile("theme/style.css"); err != nil {
		return nil, err
	}
	if t.icon, err = themeFiles.ReadFile("theme/icon.svg"); err != nil {
		return nil, err
	}
	t.template, err = template.ParseFS(themeFiles, "theme/page.html")
	return t, err
}

// view is what the template shows.
type view struct {
	Title, Summary string
	Chapter        string
	Root           string // the way to the website's first folder
	Body           template.HTML
	Home           bool
	Heads          []head
	Chapters       []chapterView
	Before, After  *link
}

type chapterView struct {
	Title string
	Pages []link
}

type link struct {
	Href, Title string
	Here        bool
}

// page renders a page with the navigation around it.
func (t *theme) page(p *page, all []*page, before, after *page) ([]byte, error) {
	v := view{
		Title: p.title, Summary: p.summary, Chapter: p.chapter, Root: relative(p.path, ""),
		Body: p.body, Home: p.path == "index.html", Heads: p.heads,
		Before: p.linkTo(before), After: p.linkTo(after),
	}
	for _, other := range all {
		if n := len(v.Chapters); n == 0 || v.Chapters[n-1].Title != other.chapter {
			v.Chapters = append(v.Chapters, chapterView{Title: other.chapter})
		}
		c := &v.Chapters[len(v.Chapters)-1]
		c.Pages = append(c.Pages, *p.linkTo(other))
	}
	var b bytes.Buffer
	if err := t.template.ExecuteTemplate(&b, "page.html", v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (p *page) linkTo(other *page) *link {
	if other == nil {
		return nil
	}
	title := other.title
	if other.path == "index.html" {
		title = "Overview"
	}
	return &link{Href: relative(p.path, other.path), Title: title, Here: other == p}
}
