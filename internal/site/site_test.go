package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const root = "../.."

func TestSite(t *testing.T) {
	s, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Errorf("links that lead nowhere:\n%v", err)
	}
	if len(s.pages) < 20 || s.pages["index.html"] == nil || s.pages["example/index.html"] == nil {
		t.Errorf("pages: %v", slices.Sorted(maps.Keys(s.pages)))
	}
	for name := range s.pages {
		checkPage(t, s, name)
	}
	again, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(s.files, again.files, bytes.Equal) {
		t.Error("the second build differs from the first")
	}
	checkStyle(t, string(s.files["style.css"]))
}

// element is an element of a page with its attributes.
type element struct {
	name string
	attr map[string]string
}

func elements(t *testing.T, text []byte) []element {
	t.Helper()
	var all []element
	for z := html.NewTokenizer(bytes.NewReader(text)); z.Next() != html.ErrorToken; {
		token := z.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		e := element{token.Data, map[string]string{}}
		for _, a := range token.Attr {
			e.attr[a.Key] = a.Val
		}
		all = append(all, e)
	}
	return all
}

// checkPage looks at the whole page, navigation included: no script and nothing of other
// hosts, every link leads somewhere, and a reader with a keyboard or a screen reader finds
// around.
func checkPage(t *testing.T, s *site, name string) {
	t.Helper()
	p := s.pages[name]
	ids := map[string]bool{}
	count := map[string]int{}
	labels := map[string]bool{}
	level := 0
	for _, e := range elements(t, s.files[name]) {
		count[e.name]++
		if id, has := e.attr["id"]; has {
			if ids[id] {
				t.Errorf("%s: the id %s is there twice", name, id)
			}
			ids[id] = true
		}
		for key, value := range e.attr {
			if key == "style" || strings.HasPrefix(key, "on") {
				t.Errorf("%s: <%s %s>", name, e.name, key)
			}
			outside := strings.Contains(value, "://") || strings.HasPrefix(value, "//")
			if (key == "src" || key == "srcset" || key == "href" && e.name != "a") && outside {
				t.Errorf("%s asks another host: %s", name, value)
			}
			if key == "href" && !outside || key == "src" {
				if err := s.follow(p, value); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		switch e.name {
		case "script", "iframe", "form", "object", "embed":
			t.Errorf("%s has a <%s>", name, e.name)
		case "img":
			if _, has := e.attr["alt"]; !has {
				t.Errorf("%s has an image without a text", name)
			}
		case "html":
			if e.attr["lang"] != "en" {
				t.Errorf("%s does not say its language", name)
			}
		case "nav":
			if l := e.attr["aria-label"]; l == "" || labels[l] {
				t.Errorf("%s: a navigation without a label of its own: %q", name, l)
			} else {
				labels[l] = true
			}
		case "a":
			if e.attr["href"] == "" {
				t.Errorf("%s has a link to nowhere", name)
			}
		case "pre":
			if e.attr["tabindex"] != "0" {
				t.Errorf("%s has code that a keyboard can't scroll", name)
			}
		}
	}
	if count["h1"] != 1 || count["main"] != 1 || count["title"] != 1 {
		t.Errorf("%s has %d h1, %d main and %d title", name, count["h1"], count["main"], count["title"])
	}
	for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllSubmatch([]byte(p.body), -1) {
		next := int(h[1][0] - '0')
		if next > level+1 {
			t.Errorf("%s: a heading of level %d follows one of %d", name, next, level)
		}
		level = next
	}
	if len(p.summary) < 20 || strings.ContainsAny(p.title, "<>") {
		t.Errorf("%s: title %q, summary %q", name, p.title, p.summary)
	}
}

// checkStyle holds the colours to a contrast that can be read, in both schemes, and the
// style sheet to this host.
func checkStyle(t *testing.T, css string) {
	t.Helper()
	if strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style asks for more files")
	}
	schemes := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(css, -1)
	if len(schemes) != 2 {
		t.Fatalf("%d colour schemes, want light and dark", len(schemes))
	}
	colour := regexp.MustCompile(`--(\w+): #([0-9a-f]{6});`)
	for i, scheme := range schemes {
		of := map[string]float64{}
		for _, m := range colour.FindAllStringSubmatch(scheme[1], -1) {
			of[m[1]] = luminance(t, m[2])
		}
		for _, pair := range [][2]string{
			{"ink", "page"}, {"faint", "page"}, {"link", "page"}, {"ink", "shade"}, {"faint", "shade"}, {"key", "shade"}, {"link", "shade"},
		} {
			a, b := of[pair[0]], of[pair[1]]
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4.5 {
				t.Errorf("scheme %d: %s on %s has a contrast of %.1f, want 4.5", i, pair[0], pair[1], contrast)
			}
		}
	}
}

// Pages of the source tree that are not part of the website: their links must lead
// somewhere within the tree.
func TestLinksOfTheTree(t *testing.T) {
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "example/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestBadPages(t *testing.T) {
	for text, want := range map[string]string{
		"words":              "no title",
		"# A\n\n# B\n":       "two titles",
		"## A\n":             "before the title",
		"# A\n\n![](y.png)":  "an image without a text",
		"# A\n\n![x](y.png)": "no such page",
		"# A\n\n[x](y.md)":   "no such page",
		"# A\n\n[x](#y)":     "no such section",
		"# A\n\n[x](../y)":   "no such page",
		"# A\n\n[x](a.md#)":  "no such section",
	} {
		p, err := newPage("a.html", "website/a.md", []byte(text))
		if err == nil {
			s := &site{files: map[string][]byte{"a.html": {}}, pages: map[string]*page{"a.html": p}}
			err = s.check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTabs(t *testing.T) {
	const text = "# T\n\n```yaml\na: 1 # one\n```\n\n<!-- file: b.hcl -->\n```hcl\na = 1\n```\n\n```yaml\nb: <2>\n```\nand\n```hcl\nb = 2\n```\n\n<script>x</script>\n"
	p, err := newPage("t.html", "website/t.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	body := string(p.body)
	if strings.Count(body, "<fieldset") != 1 || strings.Count(body, "<pre") != 4 || strings.Count(body, `type="radio"`) != 2 {
		t.Errorf("not two tabs and two blocks:\n%s", body)
	}
	for _, want := range []string{"<b>a</b>: 1 <i># one</i>", "<b>a</b> = 1", "<b>b</b>: &lt;2&gt;", ">YAML</label>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "script") || strings.Contains(body, "file:") {
		t.Errorf("raw HTML in\n%s", body)
	}
}

func TestWriteEmptiesOnlyWebsites(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(precious, []byte("years"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &site{files: map[string][]byte{"style.css": {}, "a/b.html": []byte("x")}}
	if err := s.write(dir); err == nil {
		t.Error("a folder with something else was emptied")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "site")
	for range 2 {
		if err := s.write(out); err != nil {
			t.Fatal(err)
		}
		s.files = map[string][]byte{"style.css": {}}
	}
	if _, err := os.Stat(filepath.Join(out, "a")); !os.IsNotExist(err) {
		t.Errorf("what is no more is still there: %v", err)
	}
	if err := fs.WalkDir(os.DirFS(out), ".", func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		t.Error(err)
	}
}
