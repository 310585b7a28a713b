package ui

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxWeight is how many bytes may come, before compression, when the page is opened. Who
// opens it over a bad line at night must not wait for it. What is opened rarely is loaded
// when it is.
const maxWeight = 150_000

// The folder holds the dashboard and the Go code around it, and all of it is embedded.
func TestEveryFileIsEmbedded(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		if path.Ext(e.Name()) == ".go" {
			continue
		}
		if contentTypes[path.Ext(e.Name())] == "" {
			t.Errorf("%s is of no known type", e.Name())
		}
		want = append(want, e.Name())
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("embedded are %q, in the folder are %q", got, want)
	}
}

func TestWeight(t *testing.T) {
	weigh := func(what string, names map[string]bool) int {
		total, packed := 0, 0
		for name := range names {
			f := theSite(t).files[name]()
			total += len(f.plain)
			packed += len(f.packed)
		}
		t.Logf("%s: %d files, %d bytes, %d in gzip", what, len(names), total, packed)
		return total
	}
	weigh("all there is", load(t, true))
	if total := weigh("what opening the page loads", load(t, false)); total > maxWeight {
		t.Errorf("%d bytes, more than %d", total, maxWeight)
	}
}

// A module is asked for as soon as the page is there, not when the one before it has come
// and named it: over a slow line each of these steps would be seen.
func TestModulesArePreloaded(t *testing.T) {
	page, err := files.ReadFile(Index)
	if err != nil {
		t.Fatal(err)
	}
	for name := range load(t, false) {
		link := `<link rel="modulepreload" href="ui/` + name + `">`
		script := `src="ui/` + name + `"`
		if path.Ext(name) == ".js" && !strings.Contains(string(page), link) && !strings.Contains(string(page), script) {
			t.Errorf("%s has no %s", Index, link)
		}
	}
}

func theSite(t testing.TB) *Site {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reference finds what a file loads: attributes of the page, imports of modules, and
// whatever a style sheet names.
var reference = map[string]*regexp.Regexp{
	".html": regexp.MustCompile(`(?:src|href)="([^"#]+)"`),
	".js":   regexp.MustCompile(`(?m)(?:^\s*import\s+(?:[^;'"]*?\bfrom\s+)?|^\s*export\s+(?:\*|\{[^}]*\})\s*from\s+|\bimport\(|\bnew URL\()['"]([^'"]+)['"]`),
	".css":  regexp.MustCompile(`(?:@import\s+["']|url\(["']?)([^"')]+)`),
	".svg":  regexp.MustCompile(`(?:src|href)="([^"#]+)"`),
}

// apiPaths are what the page links to in the API itself.
var apiPaths = []string{"status"}

// typesOnly is read by the type checker alone.
const typesOnly = "types.js"

// load returns the names of all files that the page loads, itself included: ever, or when
// it is opened.
func load(t *testing.T, ever bool) map[string]bool {
	t.Helper()
	loaded := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if loaded[name] {
			return
		}
		data, err := files.ReadFile(name)
		if err != nil {
			t.Error(err)
			return
		}
		loaded[name] = true
		for _, m := range reference[path.Ext(name)].FindAllStringSubmatch(string(data), -1) {
			target := m[1]
			if !ever && strings.Contains(m[0], "(") {
				continue
			}
			if strings.HasPrefix(target, "data:") || name == Index && slices.Contains(apiPaths, target) {
				continue
			}
			// The page is at the root, what it is made of a folder below; relative, so that
			// all of it can be behind a proxy under some path.
			before := "./"
			if name == Index {
				before = "ui/"
			}
			file, ok := strings.CutPrefix(target, before)
			if !ok || strings.Contains(file, "/") {
				t.Errorf("%s loads %q, want %s and the name of a file", name, target, before)
				continue
			}
			visit(file)
		}
	}
	visit(Index)
	return loaded
}

// What the page loads is there, nothing is there that it does not load, and nothing comes
// from anywhere else.
func TestReferences(t *testing.T) {
	loaded := load(t, true)
	for _, name := range Names() {
		if !loaded[name] && name != typesOnly {
			t.Errorf("nothing loads %s", name)
		}
		data, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range regexp.MustCompile(`https?://[^\s"'`+"`"+`)]+`).FindAllString(string(data), -1) {
			if url != "http://www.w3.org/2000/svg" { // the name of a kind of elements; nobody fetches it
				t.Errorf("%s has the URL %s", name, url)
			}
		}
	}
}

// The policy of the page would stop what is inside it.
func TestNothingInline(t *testing.T) {
	data, err := files.ReadFile(Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`(?i)<style`, `(?i)\sstyle=`, `(?i)\son[a-z]+=`, `(?is)<script[^>]*>\s*[^<\s]`, `(?i)javascript:`, `(?i)<base`, `(?i)<iframe`} {
		if found := regexp.MustCompile(pattern).Find(data); found != nil {
			t.Errorf("%s has %q", Index, found)
		}
	}
}

// get asks the site for a file.
func get(s *Site, method, name string, header http.Header, override func(http.Header)) *http.Response {
	r := httptest.NewRequest(method, "/ui/"+name, nil)
	for key, values := range header {
		r.Header[key] = values
	}
	w := httptest.NewRecorder()
	s.Serve(w, r, name, override)
	return w.Result()
}

func unchanged(http.Header) {}

func TestServe(t *testing.T) {
	s := theSite(t)
	for _, name := range Names() {
		source, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := strip(name, source)
		plain := get(s, http.MethodGet, name, nil, unchanged)
		packed := get(s, http.MethodGet, name, http.Header{"Accept-Encoding": {"br, gzip;q=0.5"}}, unchanged)
		for _, resp := range []*http.Response{plain, packed} {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) {
				t.Errorf("%s: Content-Length %s of %d bytes", name, got, len(body))
			}
			if resp.Header.Get("Content-Encoding") == "gzip" {
				r, err := gzip.NewReader(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if body, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
			if resp.StatusCode != http.StatusOK || !bytes.Equal(body, want) {
				t.Errorf("%s: status %d, %d bytes", name, resp.StatusCode, len(body))
			}
			if got := resp.Header.Get("Content-Type"); got != contentTypes[path.Ext(name)] {
				t.Errorf("%s: Content-Type %q", name, got)
			}
			for key, value := range map[string]string{
				"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				"Referrer-Policy": "no-referrer", "Cache-Control": "no-cache", "Vary": "Accept-Encoding",
			} {
				if got := resp.Header.Get(key); got != value {
					t.Errorf("%s: %s: %q, want %q", name, key, got, value)
				}
			}
		}
		if packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: encodings %q and %q", name, packed.Header.Get("Content-Encoding"), plain.Header.Get("Content-Encoding"))
		}
		if a, b := plain.Header.Get("ETag"), packed.Header.Get("ETag"); a == b || a == "" || b == "" {
			t.Errorf("%s: ETags %q and %q", name, a, b)
		}
	}
}

func TestPolicy(t *testing.T) {
	for _, forbidden := range []string{"unsafe-inline", "unsafe-eval", "*", "http:", "https:", "blob:"} {
		if strings.Contains(policy, forbidden) {
			t.Errorf("the policy has %s", forbidden)
		}
	}
	for _, needed := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, needed) {
			t.Errorf("the policy has no %s", needed)
		}
	}
}

func TestServeAgain(t *testing.T) {
	s := theSite(t)
	tag := get(s, http.MethodGet, Index, nil, unchanged).Header.Get("ETag")
	packed := get(s, http.MethodGet, Index, http.Header{"Accept-Encoding": {"gzip"}}, unchanged).Header.Get("ETag")
	for name, tt := range map[string]struct {
		known, accept string
		status        int
	}{
		"the same":              {tag, "", 304},
		"the same, as weak":     {"W/" + tag, "", 304},
		"one of several":        {`"x", ` + tag, "", 304},
		"any":                   {"*", "", 304},
		"another":               {`"x"`, "", 200},
		"part of it":            {tag[:5], "", 200},
		"packed":                {packed, "gzip", 304},
		"packed, wanted plain":  {packed, "", 200},
		"plain, wanted packed":  {tag, "gzip", 200},
		"packed is not wanted":  {tag, "gzip;q=0", 304},
		"packed is not for all": {tag, "identity", 304},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"If-None-Match": {tt.known}}
			if tt.accept != "" {
				header.Set("Accept-Encoding", tt.accept)
			}
			resp := get(s, http.MethodGet, Index, header, unchanged)
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || (len(body) == 0) != (tt.status == 304) {
				t.Errorf("status %d, %d bytes, want %d", resp.StatusCode, len(body), tt.status)
			}
			if resp.Header.Get("ETag") == "" || resp.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("headers %v", resp.Header)
			}
			if tt.status == 304 && (resp.Header.Get("Content-Type") != "" || resp.Header.Get("Content-Encoding") != "") {
				t.Errorf("an answer without a body describes one: %v", resp.Header)
			}
		})
	}
}

// What guards the page may be replaced, what describes the body not.
func TestServeOverride(t *testing.T) {
	resp := get(theSite(t), http.MethodGet, Index, nil, func(h http.Header) {
		h.Set("X-Frame-Options", "SAMEORIGIN")
		h.Set("Content-Type", "text/plain")
		h.Set("Content-Encoding", "br")
		h.Set("Content-Length", "5")
		h.Set("Etag", `"x"`)
	})
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	h := resp.Header
	if h.Get("X-Frame-Options") != "SAMEORIGIN" || h.Get("Content-Type") != contentTypes[".html"] || h.Get("Content-Encoding") != "" ||
		h.Get("Content-Length") != strconv.Itoa(len(body)) || h.Get("ETag") == `"x"` {
		t.Errorf("headers %v", h)
	}
}

func TestHas(t *testing.T) {
	s := theSite(t)
	for name, want := range map[string]bool{Index: true, "ui.go": false, "": false, ".": false, "../ui.go": false, "INDEX.HTML": false} {
		if got := s.Has(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
