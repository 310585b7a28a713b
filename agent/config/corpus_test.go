package config

import (
	"strings"
	"testing"
)

// schemaPaths lists the paths of all keys, without indexes. anyKind keys have no
// invalid value, and the keys of defaults are those of jobs.
func schemaPaths(f *field, prefix string, out []string) []string {
	for _, k := range f.keys {
		path := prefix + k.name
		if k.kind == anyKind {
			continue
		}
		out = append(out, path)
		if path == "defaults" {
			continue
		}
		for _, form := range []*field{k, k.elem, k.other} {
			if form != nil && len(form.keys) > 0 {
				out = schemaPaths(form, path+".", out)
			}
		}
	}
	return out
}

// TestCorpusIsComplete: every key has a case with a valid value and one with an
// invalid value, and TestGolden holds what is said about them.
func TestCorpusIsComplete(t *testing.T) {
	have := map[string]bool{}
	for _, c := range readGolden(t, "testdata/corpus.golden") {
		have[c.name] = true
		loads := c.want == "ok" || strings.HasSuffix(c.want, "\nok")
		switch _, form, _ := strings.Cut(c.name, " "); form {
		case "valid":
			if !loads {
				t.Errorf("%s does not load", c.name)
			}
		case "invalid":
			if loads {
				t.Errorf("%s loads", c.name)
			}
		default:
			t.Errorf("%q is neither valid nor invalid", c.name)
		}
	}
	for _, path := range schemaPaths(fileKeys, "", nil) {
		for _, form := range []string{" valid", " invalid"} {
			if !have[path+form] {
				t.Errorf("no case %q", path+form)
			}
			delete(have, path+form)
		}
	}
	for name := range have {
		t.Errorf("the case %q is of no key of the schema", name)
	}
}

// TestFallbacks: what the schema says of absent keys is what the loader does.
func TestFallbacks(t *testing.T) {
	var spell func(f *field) string
	spell = func(f *field) string {
		var keys []string
		for _, k := range f.keys {
			switch {
			case k.fallback != nil:
				keys = append(keys, k.name+": '"+*k.fallback+"'")
			case k.implied:
				keys = append(keys, k.name+": "+spell(k))
			}
		}
		return "{" + strings.Join(keys, ", ") + "}"
	}
	const bare = "jobs: [{name: a, command: x, schedule: '@daily'}]\n"
	plain := mustLoad(t, testHost{}, yamlFile(bare))
	defaults := jobKeys.without("startingDeadline")
	spelled := mustLoad(t, testHost{}, yamlFile("defaults: "+spell(defaults)+"\n"+bare))
	if got := spelled.Jobs[0]; got.Schedule.Canonical() != plain.Jobs[0].Schedule.Canonical() {
		t.Error("the schedules differ")
	}
	if plain.JobSetID != spelled.JobSetID {
		t.Errorf("with every fallback spelled out another job set:\n%+v\n%+v", plain.Jobs[0], spelled.Jobs[0])
	}
}
