package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// site is a website in memory.
type site struct {
	files map[string][]byte // by path below the website, with slashes
	pages map[string]*page  // those of files that are pages
}

// copied are files of the source tree that become files of the website as they are, by
// their paths there.
func copied() map[string]string {
	return map[string]string{"openapi.yaml": "agent/openapi.yaml", "LICENSE.txt": "LICENSE"}
}

// rootPages are pages of the website that lie in the source tree's first folder.
func rootPages() map[string]string {
	return map[string]string{"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
}

// build reads the source tree and makes the website.
func build(root string) (*site, error) {
	s := &site{files: map[string][]byte{}, pages: map[string]*page{}}
	all, err := readPages(root)
	if err != nil {
		return nil, err
	}
	examples, err := s.addExamples(root)
	if err != nil {
		return nil, err
	}
	for to, from := range copied() {
		if s.files[to], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(from))); err != nil {
			return nil, err
		}
	}
	if err := s.addPictures(root); err != nil {
		return nil, err
	}
	theme, err := newTheme()
	if err != nil {
		return nil, err
	}
	s.files["style.css"], s.files["icon.svg"] = theme.style, theme.icon
	for i, p := range all {
		var before, after *page
		if i > 0 {
			before = all[i-1]
		}
		if i+1 < len(all) {
			after = all[i+1]
		}
		if err := s.add(theme, p, all, before, after); err != nil {
			return nil, err
		}
	}
	for _, p := range examples {
		if err := s.add(theme, p, all, nil, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *site) add(t *theme, p *page, all []*page, before, after *page) error {
	html, err := t.page(p, all, before, after)
	if err != nil {
		return fmt.Errorf("%s: %w", p.source, err)
	}
	s.files[p.path], s.pages[p.path] = html, p
	return nil
}

// readPages reads the pages of the source tree in the order of the contents.
func readPages(root string) ([]*page, error) {
	names, err := filepath.Glob(filepath.Join(root, "website", "*.md"))
	if err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for _, name := range names {
		left[strings.TrimSuffix(filepath.Base(name), ".md")] = true
	}
	var all []*page
	for _, c := range contents() {
		for _, name := range c.pages {
			source := cmp.Or(rootPages()[name], "website/"+name+".md")
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(source)))
			if err != nil {
				return nil, err
			}
			p, err := newPage(name+".html", source, text)
			if err != nil {
				return nil, err
			}
			p.chapter = c.title
			all = append(all, p)
			delete(left, name)
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("pages that the contents lack: %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return all, nil
}

// addPictures copies the pictures that pages may show.
func (s *site) addPictures(root string) error {
	names, err := filepath.Glob(filepath.Join(root, "website", "screenshots", "*.png"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if s.files["screenshots/"+filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	return nil
}

// addExamples copies the examples, and returns their texts as pages.
func (s *site) addExamples(root string) ([]*page, error) {
	var pages []*page
	dir := filepath.Join(root, "example")
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		to := filepath.ToSlash(rel)
		if path.Ext(to) != ".md" {
			s.files[to] = text
			return nil
		}
		p, err := newPage(htmlPath(to), to, text)
		if err != nil {
			return err
		}
		pages = append(pages, p)
		return nil
	})
	return pages, err
}

// htmlPath is where a page goes whose source is a Markdown file.
func htmlPath(source string) string {
	dir, name := path.Split(strings.TrimSuffix(source, ".md"))
	if name == "README" {
		name = "index"
	}
	return dir + name + ".html"
}

// write writes the website into a folder, which it empties first.
func (s *site) write(out string) error {
	if err := mustBeOurs(out); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		to := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, s.files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// mustBeOurs keeps a mistyped folder from being emptied: one that has something in it must
// be a website that this command wrote.
func mustBeOurs(out string) error {
	entries, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, "style.css")); err != nil {
		return fmt.Errorf("%s holds something else than a website", out)
	}
	return nil
}
