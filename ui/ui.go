// Package ui is the dashboard: static files in the binary, and what serves them.
//
// The page and its modules hold no data and no secret. What they show they fetch from
// the API of the agent that served them, with a token if the API wants one; so the files
// themselves are open to everybody.
package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// files are those of the dashboard; a test finds one that is forgotten here.
//
//go:embed *.html *.js *.css *.svg
var files embed.FS

// Index is the name of the page itself.
const Index = "index.html"

// contentTypes are those of the files by ending. Browsers run no module and take no
// style sheet of another type once they are told not to guess.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml; charset=utf-8",
}

// policy is the Content-Security-Policy of the page: code, style and data come from this
// agent alone, nothing stands in the page itself, no text becomes markup, and no other page
// may hold it in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// Names lists the files of the dashboard, sorted.
func Names() []string {
	entries, _ := files.ReadDir(".") // the root is always there
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Site serves the files of the dashboard.
type Site struct {
	files map[string]func() file
}

// file is one file, ready to be sent.
type file struct {
	contentType string
	digest      string // of plain, in hex
	plain       []byte
	packed      []byte // plain in gzip
}

// New returns the dashboard. A file is packed when it is asked for first: most agents are
// never looked at.
func New() (*Site, error) {
	s := &Site{files: make(map[string]func() file)}
	for _, name := range Names() {
		contentType, known := contentTypes[path.Ext(name)]
		if !known {
			return nil, fmt.Errorf("dashboard: %s has no content type", name)
		}
		plain, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("dashboard: %w", err)
		}
		s.files[name] = sync.OnceValue(func() file { return prepare(contentType, strip(name, plain)) })
	}
	return s, nil
}

func prepare(contentType string, plain []byte) file {
	sum := sha256.Sum256(plain)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(plain) // a buffer takes everything
	_ = w.Close()
	return file{contentType: contentType, digest: hex.EncodeToString(sum[:16]), plain: plain, packed: packed.Bytes()}
}

// Has reports whether there is a file of that name.
func (s *Site) Has(name string) bool { return s.files[name] != nil }

// Serve answers a GET or HEAD request with a file; there must be one of that name. Before
// anything is sent, override may change the headers, except those that describe the body.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, name string, override func(http.Header)) {
	f := s.files[name]()
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	// A browser may keep the files, and asks each time whether they are still the same:
	// after an upgrade no module meets one of another version.
	h.Set("Cache-Control", "no-cache")
	override(h)

	body, tag := f.plain, `"`+f.digest+`"`
	h.Del("Content-Encoding")
	h.Add("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header) {
		body, tag = f.packed, `"`+f.digest+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if matches(r.Header, tag) {
		h.Del("Content-Type")
		h.Del("Content-Length")
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone misses nothing
}

// acceptsGzip reports whether a request allows an answer in gzip.
func acceptsGzip(h http.Header) bool {
	for coding := range listed(h, "Accept-Encoding") {
		name, quality, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, has := strings.CutPrefix(strings.ReplaceAll(quality, " ", ""), "q=")
		value, err := strconv.ParseFloat(q, 64)
		return !has || err == nil && value > 0
	}
	return false
}

// matches reports whether the client of a request has what tag names already.
func matches(h http.Header, tag string) bool {
	for known := range listed(h, "If-None-Match") {
		if known == "*" || strings.TrimPrefix(known, "W/") == tag {
			return true
		}
	}
	return false
}

// listed yields the items of a header that is a list.
func listed(h http.Header, name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, value := range h.Values(name) {
			for item := range strings.SplitSeq(value, ",") {
				if !yield(strings.TrimSpace(item)) {
					return
				}
			}
		}
	}
}
