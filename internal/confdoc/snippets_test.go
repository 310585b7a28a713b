package main

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/scheduler/report"
)

// The documentation's configuration stands in fenced blocks with the language yaml, hcl
// or crontab. A comment in the lines before a block says how it is to be read:
//
//	<!-- keys of web -->      the block is the inside of this section
//	<!-- file: NAME -->       the block is this file, which later ones of the page may name
//	<!-- refused: TEXT -->    it does not load, and an error or its hint holds the text
//
// All blocks without a line of other code between them form a group, and say the same.
// A group that has YAML has HCL, and the other way round.

type snippet struct {
	page, language, text   string
	line                   int
	section, file, refused string
}

var directive = regexp.MustCompile(`^<!-- (keys of|file:|refused:) (.*) -->$`)

// snippetsOf returns the blocks of a page in order.
func snippetsOf(t *testing.T, page string) []snippet {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []snippet
	var next snippet
	fence := ""
	for i, line := range strings.Split(string(data), "\n") {
		switch m := directive.FindStringSubmatch(line); {
		case fence != "" && line == "```":
			if fence == "yaml" || fence == "hcl" || fence == "crontab" {
				list = append(list, next)
			}
			fence, next = "", snippet{}
		case fence != "":
			next.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			fence = strings.TrimPrefix(line, "```")
			next.page, next.line, next.language = page, i+2, fence
			if fence == "" {
				fence = "text"
			}
		case m != nil:
			switch m[1] {
			case "keys of":
				next.section = m[2]
			case "file:":
				next.file = m[2]
			case "refused:":
				next.refused = m[2]
			}
		case regexp.MustCompile(`^( {4}|\t)(jobs|web|cluster|defaults|include|logging):`).MatchString(line):
			t.Errorf("%s:%d: configuration that is not in a fenced block is not tested", page, i+1)
		}
	}
	return list
}

// name is the file that a block is written to.
func (s snippet) name() string {
	if s.file != "" {
		return s.file
	}
	return map[string]string{"yaml": "a.yaml", "hcl": "a.hcl", "crontab": "crontab"}[s.language]
}

// whole is the text of a block as a file of its own.
func (s snippet) whole() string {
	if s.section == "" {
		return s.text
	}
	inner := "  " + strings.ReplaceAll(strings.TrimRight(s.text, "\n"), "\n", "\n  ") + "\n"
	if s.language == "hcl" {
		return s.section + " {\n" + inner + "}\n"
	}
	return s.section + ":\n" + inner
}

func TestSnippets(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "website", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	count := 0
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			all := snippetsOf(t, page)
			count += len(all)
			t.Chdir(t.TempDir())
			var group []snippet
			for _, s := range all {
				if s.refused != "" {
					checkRefused(t, s)
					continue
				}
				group = append(group, s)
				if s.language == "hcl" { // closes its group
					checkGroup(t, group)
					group = nil
				}
			}
			for _, s := range group {
				t.Errorf("%s:%d: this has no counterpart in HCL", s.page, s.line)
			}
		})
	}
	if count < 20 {
		t.Errorf("only %d blocks were found", count)
	}
}

func write(t *testing.T, s snippet) string {
	t.Helper()
	if err := os.WriteFile(s.name(), []byte(s.whole()), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.name()
}

func checkRefused(t *testing.T, s snippet) {
	t.Helper()
	cfg, ds := config.Load(config.Sources{Files: []string{write(t, s)}, Host: docHost{}})
	if cfg != nil || !strings.Contains(ds.Error(), s.refused) {
		t.Errorf("%s:%d: it loads, or nothing is said about %q: %v", s.page, s.line, s.refused, ds)
	}
}

// checkGroup loads the blocks of a group, each from its own file, and compares them.
func checkGroup(t *testing.T, group []snippet) {
	t.Helper()
	if group[0].language == "hcl" {
		t.Errorf("%s:%d: this has no counterpart in YAML", group[0].page, group[0].line)
	}
	var first *config.Config
	for _, s := range group {
		cfg := load(t, config.Sources{Files: []string{write(t, s)}})
		if cfg == nil {
			t.Errorf("%s:%d does not load", s.page, s.line)
			return
		}
		if first == nil {
			first = cfg
			continue
		}
		same(t, first, cfg, s.page)
	}
}

// load loads what must be valid. Only what the machine that a page is about has, and this
// one has not, may be warned of.
func load(t *testing.T, sources config.Sources) *config.Config {
	t.Helper()
	sources.Host, sources.CheckTemplate = docHost{}, report.CheckTemplate
	cfg, ds := config.Load(sources)
	for _, d := range ds {
		missing := strings.Contains(d.Message, "cannot be read") || strings.Contains(d.Message, "is not set") || strings.Contains(d.Message, "no such file")
		if d.Severity == config.Error || d.Severity == config.Warning && !missing {
			t.Error(d)
		}
	}
	return cfg
}

// same compares two configurations, whatever files they come from.
func same(t *testing.T, a, b *config.Config, where string) {
	t.Helper()
	if a.JobSetID != b.JobSetID {
		t.Errorf("%s: two job-set ids", where)
	}
	x, y := *a, *b
	x.Files, y.Files, x.Jobs, y.Jobs = nil, nil, nil, nil
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%s: two configurations:\n%+v\n%+v", where, x, y)
	}
}

// TestExamples: every example loads, files of one name but for the ending say the same,
// and YAML has a counterpart in HCL.
func TestExamples(t *testing.T) {
	root, err := filepath.Abs("../../example")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	groups := map[string]map[string]*config.Config{}
	err = filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			switch {
			case strings.HasSuffix(path, ".d"):
				load(t, config.Sources{Dirs: []string{path}})
			case path != ".":
				return fs.SkipDir // a deployment, which internal/deploy tests as one
			}
			return nil
		}
		switch ext := filepath.Ext(path); ext {
		case ".yaml", ".hcl", ".crontab":
			base := strings.TrimSuffix(path, ext)
			if groups[base] == nil {
				groups[base] = map[string]*config.Config{}
			}
			if groups[base][ext] = load(t, config.Sources{Files: []string{path}}); groups[base][ext] == nil {
				t.Errorf("%s does not load", path)
			}
		case ".md", ".env":
		default:
			t.Errorf("%s: what is this?", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) < 4 {
		t.Errorf("only %d examples", len(groups))
	}
	for base, forms := range groups {
		if strings.Contains(base, ".d"+string(filepath.Separator)) {
			continue // shows several languages in one directory
		}
		for _, ext := range []string{".yaml", ".hcl"} {
			if forms[ext] == nil {
				t.Errorf("%s%s is missing", base, ext)
				return
			}
		}
		for _, form := range forms {
			same(t, forms[".yaml"], form, base)
		}
	}
}

// docHost is the machine that the documentation is about: the agent is root there, and
// has the users that it speaks of.
type docHost struct{ config.System }

func (docHost) Hostname() (string, error) { return "yacron-a", nil }
func (docHost) Root() bool                { return true }
func (docHost) LookupUser(name string) (*user.User, error) {
	switch name {
	case "backup", "www-data":
		return &user.User{Uid: "34", Gid: "34", Username: name, HomeDir: "/var/" + name}, nil
	}
	return nil, user.UnknownUserError(name)
}
func (docHost) GroupIDs(*user.User) ([]string, error) { return []string{"34"}, nil }
