package ui

import (
	"path"
	"strings"
	"testing"
)

func TestStrip(t *testing.T) {
	for name, c := range map[string]struct{ file, source, want string }{
		"comments on their own":  {"a.js", "// one\n/** two */\n/*\n * three\n */\nf();\n", "\n\n\n\n\nf();\n"},
		"indentation":            {"a.js", "if (x) {\n  f();\n}\n", "if (x) {\nf();\n}\n"},
		"a comment at the end":   {"a.js", "f(); // why\n", "f(); // why\n"},
		"a comment in the front": {"a.js", "  /** @type {A} */ (f)();\n", "/** @type {A} */ (f)();\n"},
		"two comments":           {"a.js", "/** a */ f() /** b */\n", "/** a */ f() /** b */\n"},
		"slashes in text":        {"a.js", "f('//');\n", "f('//');\n"},
		"style sheets":           {"a.css", "/* why */\n.a {\n  color: red;\n}\n", "\n.a {\ncolor: red;\n}\n"},
		"no end of line":         {"a.js", "  f();", "f();\n"},
		"other files":            {"a.html", "  <p>\n", "  <p>\n"},
	} {
		if got := string(strip(c.file, []byte(c.source))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What strip rests on: no literal of a module goes over several lines.
func TestNoLiteralOverLines(t *testing.T) {
	for _, name := range Names() {
		if path.Ext(name) != ".js" {
			continue
		}
		source, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(strip(name, source)), "\n") {
			if strings.Count(strings.ReplaceAll(line, "\\`", ""), "`")%2 != 0 {
				t.Errorf("%s:%d: a literal in backticks does not end on its line: %s", name, i+1, line)
			}
		}
	}
}
