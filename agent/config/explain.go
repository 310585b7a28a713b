package config

import (
	"regexp"
	"strconv"
)

// Origin is where a value was written. The zero Origin is the program itself.
type Origin struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// String returns file:line, or "built in".
func (o Origin) String() string {
	if o.File == "" {
		return "built in"
	}
	return o.File + ":" + strconv.Itoa(o.Line)
}

// Value is one effective value and where it came from.
type Value struct {
	Key    string `json:"key"`  // path below the job or section, e.g. onFailure.retry.jitter
	Text   string `json:"text"` // as written; "***" for secrets and what may be one
	Hidden bool   `json:"hidden,omitempty"`
	Origin Origin `json:"origin"`
}

// JobValues are the effective values of one job.
type JobValues struct {
	Name   string  `json:"name"`
	Values []Value `json:"values"`
}

// Explanation is the whole effective configuration, value by value, without secrets.
type Explanation struct {
	Settings []Value     `json:"settings"` // everything but the jobs
	Jobs     []JobValues `json:"jobs"`
}

// explainer walks merged trees along the schema.
type explainer struct {
	values []Value
	skip   map[string]bool // paths that do not apply
}

// explainJob lists the values of a job. deadline is the startingDeadline of all jobs,
// nil if it is the built-in one.
func explainJob(name string, all, deadline *node) JobValues {
	x := explainer{}
	for _, k := range jobKeys.keys {
		n := all.get(k.name)
		if k.name == "startingDeadline" && n == nil && deadline != nil {
			n = deadline
		}
		if k.name != "name" {
			x.value(k.name, k, n)
		}
	}
	return JobValues{Name: name, Values: x.values}
}

// explainSettings lists the values of everything else.
func explainSettings(sections map[string]section, cluster *Cluster) []Value {
	x := explainer{}
	if cluster != nil && cluster.Gossip == nil {
		x.skip = map[string]bool{"cluster.interval": true, "cluster.driftAfter": true, "cluster.verifyPeerNames": true, "cluster.electLeader": true}
	}
	for _, k := range fileKeys.keys {
		switch k.name {
		case "include", "defaults", "jobs":
		default:
			x.value(k.name, k, sections[k.name].node)
		}
	}
	return x.values
}

func (x *explainer) add(path string, n *node, text string, hidden bool) {
	v := Value{Key: path, Text: text, Hidden: hidden}
	if hidden {
		v.Text = string(mask)
	}
	if n != nil && n.src != nil {
		v.Origin = Origin{n.src.name, int(n.line)}
	}
	x.values = append(x.values, v)
}

// value lists what one key holds, or its built-in value if it is absent.
func (x *explainer) value(path string, f *field, n *node) {
	switch {
	case x.skip[path]:
	case n == nil && f.kind == mapKind && f.implied:
		x.mapping(path, f, nil)
	case n == nil && f.fallback != nil:
		x.add(path, nil, *f.fallback, false)
	case n == nil:
	case n.kind == mapping:
		form := f
		if f.kind == eitherKind {
			form = f.other
		}
		x.mapping(path, form, n)
	case n.kind == list:
		x.list(path, f, n)
	default:
		x.add(path, n, n.text, f.sealed)
	}
}

func (x *explainer) mapping(path string, f *field, n *node) {
	if f.kind == mapKind || f.kind == secretKind {
		for _, k := range f.keys {
			x.value(path+"."+k.name, k, n.get(k.name))
		}
		return
	}
	if n == nil {
		return
	}
	for i := range n.entries {
		e := &n.entries[i]
		inner := *freeValue
		inner.sealed = f.sealed || secretName.MatchString(e.key)
		x.value(path+"."+e.key, &inner, e.value)
	}
}

// secretName matches the names under which free keys hold secrets, as handlers of
// Python's logging do.
var secretName = regexp.MustCompile(`(?i)passw|secret|token|credential|dsn|url|(?:^|[_-])key$`)

func (x *explainer) list(path string, f *field, n *node) {
	elem := freeValue
	if f.sealed {
		hidden := *freeValue
		hidden.sealed = true
		elem = &hidden
	}
	for _, form := range []*field{f, f.other} {
		if form != nil && form.kind == listKind {
			elem = form.elem
		}
	}
	for i, item := range n.items {
		if f.pairs {
			if v := item.get("value"); v != nil {
				x.add(path+"."+textOr(item.get("key"), ""), v, v.text, true)
			}
			continue
		}
		x.value(path+"["+strconv.Itoa(i)+"]", elem, item)
	}
}
