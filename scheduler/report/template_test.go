package report

import (
	"strings"
	"sync"
	"testing"
)

func sampleVariables() map[string]any {
	return map[string]any{
		"name": "nightly", "command": []string{"tar", "-c"}, "success": false, "exit_code": 3,
		"fail_reason": "why", "stdout": "a<b>&'\"\nline 2", "stderr": nil,
		"environment": variables{"HOSTNAME": "h1", "A": "b"},
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range [][2]string{
		{"plain {{ name }}", "plain nightly"},
		{"{{ stdout }}|{{ stderr }}", "a<b>&'\"\nline 2|None"},
		{"one\n", "one"},
		{"two\n\n", "two\n"},
		{"{{ no_such_name }}|{{ no_such_name.attr }}|{{ no_such_name['x'] }}", "||"},
		{"{{ stderr.attr }}|{{ stderr['x'] }}", "|"},
		{"{{ environment.HOSTNAME }} {{ environment['A'] }} {{ environment.MISSING }}|", "h1 b |"},
		{"{{ environment.MISSING.deeper }}|", "|"},
		{"{% if environment.HOSTNAME %}yes{% endif %}{% if environment.MISSING %}no{% endif %}", "yes"},
		{"{% if stderr %}yes{% else %}no{% endif %}", "no"},
		{"{% if stderr is none %}none{% endif %} {% if stdout is none %}none{% else %}some{% endif %}", "none some"},
		{"{% if nothing is defined %}yes{% else %}no{% endif %} {{ stderr is defined }} {{ nothing is not defined }}", "no True True"},
		{"{{ nothing|default('d') }} {{ stderr|default('d') }} {{ stderr|d('d', true) }} {{ stdout|default('d')|length }}", "d None d 14"},
		{"{% for x in nothing %}x{% endfor %}{% for x in stderr %}x{% endfor %}.", "."},
		{"{{ success }} {{ exit_code }} {{ exit_code + 1 }} {{ exit_code == 3 }}", "False 3 4 True"},
		{"{{ stdout|tojson }}", `"a\u003cb\u003e\u0026\u0027\"\nline 2"`},
		{"{{ stderr|tojson }} {{ {'a': stderr, 'b': stdout[:1]}|tojson }}", `null {"a":null,"b":"a"}`},
		{"{{ command }} {{ command|join(' ') }}", "['tar', '-c'] tar -c"},
		{"{% for l in stdout.splitlines() %}[{{ l }}]{% endfor %}", "[a<b>&'\"][line 2]"},
		{"{% set x = 3 %}{{ x }}{% for i in range(2) %} {{ loop.index }}{{ i }}{% endfor %}", "3 10 21"},
		{"{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(name) }}", "<nightly>"},
		{"{{ name|upper }} {{ name ~ '!' }} {{ 'x' if success else 'y' }}", "NIGHTLY nightly! y"},
		{"{# comment #}{% raw %}{{ raw }}{% endraw %}", "{{ raw }}"},
		{"{%- if not success -%} failed {%- endif %}", "failed"},
		{"ünïcode {{ 'ä' }}", "ünïcode ä"},
		{"", ""},
	} {
		compiled, err := Compile(c[0])
		if err != nil {
			t.Errorf("%q: %v", c[0], err)
			continue
		}
		got, err := compiled.Render(sampleVariables())
		if err != nil || got != c[1] {
			t.Errorf("%q: got %q, want %q; %v", c[0], got, c[1], err)
		}
	}
}

func TestBrokenTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"{{ name":             "}}",
		"{% if success %}":    "endif",
		"{% nonsense %}":      "nonsense",
		"{{ name|nonsense }}": `there is no filter "nonsense" (line 1)`,
		"a\n{% if name is nonsense %}{% endif %}":     `there is no test "nonsense" (line 2)`,
		"a\n{% if name is not nonsense %}{% endif %}": `there is no test "nonsense" (line 2)`,
		"{{ }}":       "",
		"{% endif %}": "",
	} {
		err := CheckTemplate(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
		if err != nil && len(text) > 12 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: the error repeats the text: %v", text, err)
		}
	}
}

func TestTemplatesThatFailWhenUsed(t *testing.T) {
	for _, text := range []string{
		"{% include '/etc/passwd' %}",
		"{% include name %}",
		"{% import 'x' as y %}{{ y }}",
		"{{ name.no_such_method() }}",
		"{% for i in range(100000) %}{{ 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' }}{% endfor %}",
	} {
		compiled, err := Compile(text)
		if err != nil {
			continue // even better
		}
		if got, err := compiled.Render(sampleVariables()); err == nil {
			t.Errorf("%q: rendered %.50q", text, got)
		}
	}
}

func TestTemplateIsSafeForConcurrentUse(t *testing.T) {
	compiled, err := Compile("{% set x = n %}{% for i in range(20) %}{{ x }}{{ undefined_thing }}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, n := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			for range 50 {
				if got, err := compiled.Render(map[string]any{"n": n}); err != nil || got != strings.Repeat(n, 20) {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCompile(f *testing.F) {
	f.Add("{{ name|upper }} {% if a.b is not none %}{{ x['y'] }}{% endif %}")
	f.Add("{% for l in stdout.splitlines() %}{{ loop.index }}{% endfor %}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 || strings.Contains(text, "range") || strings.Contains(text, "*") {
			return // no work without end
		}
		compiled, err := Compile(text)
		if err != nil {
			return
		}
		compiled.Render(sampleVariables())
	})
}

func TestStripANSI(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		"plain é":                               "plain é",
		"\x1b[31mred\x1b[0m":                    "red",
		"\x1b[1;38;5;200mx\x1b[K":               "x",
		"\x1b]0;title\x07text":                  "text",
		"\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\": "l",
		"\x1b(Bx":                               "x",
		"\x1bcx":                                "x",
		"end\x1b":                               "end",
		"end\x1b[12":                            "end",
		"\x1b[31\nnext":                         "\nnext",
		"\x1b]never ended\nnext":                "\nnext",
		"\x1b\x1b[1mx":                          "x",
		"\x1bé":                                 "é",
	} {
		if got := stripANSI(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzStripANSI(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07\x1b(B")
	f.Fuzz(func(t *testing.T, in string) {
		out := stripANSI(in)
		if strings.ContainsRune(out, 0x1b) {
			t.Fatalf("%q: an escape is left in %q", in, out)
		}
	})
}
