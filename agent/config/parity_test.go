package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// hclWriter spells a tree in HCL: blocks where the schema has them, attributes for the
// rest, every scalar as a string.
type hclWriter struct {
	b     strings.Builder
	depth int
}

func (w *hclWriter) line(text string) {
	w.b.WriteString(strings.Repeat("  ", w.depth) + text + "\n")
}

func hclString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case (c == '$' || c == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteString(string(c) + string(c))
		case c < ' ':
			b.WriteString(`\u` + strconv.FormatInt(int64(0x10000+int64(c)), 16)[1:])
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// value spells a value as an expression.
func (w *hclWriter) value(n *node, f *field) string {
	switch n.kind {
	case list:
		var items []string
		elem := freeValue
		for _, form := range []*field{f, f.other} {
			if form != nil && form.kind == listKind {
				elem = form.elem
			}
		}
		for _, item := range n.items {
			items = append(items, w.value(item, elem))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case mapping:
		var items []string
		for _, e := range n.entries {
			name, k := hclString(e.key), f.key(e.key)
			if k == nil {
				k = freeValue
			} else {
				name = k.hclName
			}
			items = append(items, name+" = "+w.value(e.value, k))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	return hclString(n.text)
}

// body spells the keys of a mapping.
func (w *hclWriter) body(n *node, f *field, without string) {
	for _, e := range n.entries {
		k := f.key(e.key)
		switch {
		case e.key == without:
		case k == nil:
			w.line(e.key + " = " + w.value(e.value, freeValue))
		case k.block != "" && k.label != "" && e.value.kind == list && len(e.value.items) > 0:
			for _, item := range e.value.items {
				w.block(k.block+" "+hclString(item.get(k.label).text), item, k.elem, k.label)
			}
		case k.pairs && len(e.value.items) > 0:
			w.line(k.hclName + " {")
			for _, item := range e.value.items {
				w.line("  " + item.get("key").text + " = " + hclString(item.get("value").text))
			}
			w.line("}")
		case k.kind == secretKind && e.value.get("fromEnvVar") != nil && len(e.value.entries) == 1:
			w.line(k.hclName + " = env(" + hclString(e.value.get("fromEnvVar").text) + ")")
		case k.kind == secretKind && e.value.get("fromFile") != nil && len(e.value.entries) == 1:
			w.line(k.hclName + " = file(" + hclString(e.value.get("fromFile").text) + ")")
		case k.block != "" && e.value.kind == mapping && k.kind == eitherKind:
			w.block(k.block, e.value, k.other, "")
		case k.block != "" && e.value.kind == mapping:
			w.block(k.block, e.value, k, "")
		default:
			w.line(k.hclName + " = " + w.value(e.value, k))
		}
	}
}

func (w *hclWriter) block(head string, n *node, f *field, without string) {
	w.line(head + " {")
	w.depth++
	w.body(n, f, without)
	w.depth--
	w.line("}")
}

// TestParity writes every valid YAML case anew in HCL and expects the same
// configuration and the same job-set id.
func TestParity(t *testing.T) {
	count := 0
	check := func(t *testing.T, name, text string, others []goldenFile) {
		src := &source{name: name, text: []byte(text)}
		root, problems := parseYAML(src)
		if root == nil || len(problems) > 0 || root.kind != mapping {
			return
		}
		host := testHost{root: true}
		fromYAML, _ := loadFiles(t, host, append([]goldenFile{{"a.yaml", text}}, others...)...)
		if fromYAML == nil {
			return
		}
		plain := &node{kind: mapping}
		for _, e := range root.entries {
			if !strings.HasPrefix(e.key, "x-") {
				plain.entries = append(plain.entries, e)
			}
		}
		var w hclWriter
		w.body(plain, fileKeys, "")
		fromHCL, ds := loadFiles(t, host, append([]goldenFile{{"a.hcl", w.b.String()}}, others...)...)
		if fromHCL == nil {
			t.Fatalf("%s:\n%s\n%v", name, w.b.String(), ds)
		}
		count++
		if fromYAML.JobSetID != fromHCL.JobSetID {
			t.Errorf("%s: another job-set id from\n%s", name, w.b.String())
		}
		fromYAML.Files, fromHCL.Files = nil, nil
		if !reflect.DeepEqual(fromYAML, fromHCL) {
			t.Errorf("%s: another configuration from\n%s", name, w.b.String())
		}
	}
	t.Chdir(t.TempDir())
	for _, path := range []string{"corpus.golden", "yaml.golden"} {
		for _, c := range readGolden(t, filepath.Join(testdata, path)) {
			if strings.HasSuffix(c.want, "ok") && strings.HasSuffix(c.files[0].name, ".yaml") {
				check(t, c.name, c.files[0].text, c.files[1:])
			}
		}
	}
	cases, err := filepath.Glob(filepath.Join(testdata, "cases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range cases {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check(t, filepath.Base(path), string(text), nil)
	}
	if count < 300 {
		t.Errorf("only %d configurations were compared", count)
	}
}

// TestOneSetInThreeLanguages: a crontab, YAML and HCL that say the same have one id.
func TestOneSetInThreeLanguages(t *testing.T) {
	crontab := goldenFile{"x.crontab", "SHELL=/bin/bash\nA = \"b c\"\nCRON_TZ=Europe/Berlin\n*/5 0-6 * * mon-fri echo 50\\% \"$A\"\n@midnight echo ${HOME}\n0 16 1,15 * fri echo pay\n"}
	yaml := goldenFile{"x.yaml", `
defaults:
  shell: /bin/bash
  timezone: Europe/Berlin
  environment: [{key: SHELL, value: ""}, {key: A, value: other}, {key: CRON_TZ, value: x}]
jobs:
  - {name: "x.crontab:6", command: "echo pay", schedule: "0 16 1,15 * FRI", dayMatch: or}
  - {name: "x.crontab:4", command: 'echo 50% "$A"', schedule: "*/5 0-6 * * 1-5"}
  - {name: "x.crontab:5", command: "echo ${HOME}", schedule: {minute: "0", hour: "0"}}
`}
	hcl := goldenFile{"x.hcl", `
defaults {
  shell    = "/bin/bash"
  timezone = "Europe/Berlin"
  environment = { SHELL = "/bin/bash", A = "b c", CRON_TZ = "Europe/Berlin" }
}
job "x.crontab:4" {
  command  = "echo 50% \"$A\""
  schedule = "*/5 00-06 * * mon-fri"
}
job "x.crontab:5" {
  command = "echo $${HOME}"
  schedule {
    hour   = 0
    minute = 0
  }
}
job "x.crontab:6" {
  command   = "echo pay"
  schedule  = "0 16 1,15 * 5"
  day_match = "or"
}
`}
	want := mustLoad(t, testHost{}, crontab).JobSetID
	for _, f := range []goldenFile{yaml, hcl} {
		if got := mustLoad(t, testHost{}, f).JobSetID; got != want {
			t.Errorf("%s has the id %s, the crontab %s", f.name, got, want)
		}
	}
}
