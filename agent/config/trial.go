package config

import (
	"slices"
	"strings"

	"github.com/yacron2/yacron2/scheduler"
)

// trialKeys are the keys of a job that say when it fires.
var trialKeys = object("", jobKeys.key("schedule"), jobKeys.key("timezone"), jobKeys.key("utc"), jobKeys.key("dayMatch"))

// Given is one key with its text, both as somebody has typed them.
type Given struct{ Key, Text string }

// Try reads what a job would say of its schedule, exactly as Load reads it: schedule, or
// the keys of its map form each by itself (minute to year), and timezone, utc and
// dayMatch. Of the job that it returns only Schedule, ScheduleText, DayMatch, UTC,
// Timezone and Location mean anything; it is nil if and only if the diagnostics have
// errors. Their File is the key whose text is meant. A nil host is the machine itself.
func Try(given []Given, host Host) (*scheduler.Job, Diagnostics) {
	t := trial{loader: newLoader(Sources{Host: host}), all: &node{kind: mapping}}
	for _, g := range given {
		t.take(g)
	}
	t.complete()
	var job *scheduler.Job
	if t.out.errors == 0 {
		b := jobBuilder{loader: t.loader, own: t.all, defaults: &node{kind: mapping}, all: t.all}
		b.job = b.defaultJob()
		if n := t.all.get("utc"); n != nil {
			b.key("utc", n)
		}
		b.zone()
		b.schedule()
		job = b.job
	}
	if t.out.errors > 0 {
		job = nil
	}
	return job, t.out.result(pos{})
}

// trial is what Try collects.
type trial struct {
	*loader
	all    *node // as a job's mapping
	fields *node // the map form; nil: none of its keys was given
}

// take adds one key to the job.
func (t *trial) take(g Given) {
	// Each text is a source of its own, so that an error can point into it.
	at := pos{src: &source{name: g.Key, path: g.Key, text: []byte(g.Text)}, line: 1, column: 1}
	n := &node{pos: at, text: g.Text}
	e := entry{key: g.Key, pos: at, value: n}
	switch isField := slices.Contains(scheduleFields, g.Key); {
	case t.all.get(g.Key) != nil, isField && t.fields.get(g.Key) != nil:
		t.fail(at, g.Key, g.Key+" is given twice", "keep one of them")
	case isField:
		if t.fields == nil {
			t.fields = &node{kind: mapping, pos: at}
		}
		t.fields.entries = append(t.fields.entries, e)
	case trialKeys.key(g.Key) == nil:
		t.unknown(e)
	default:
		c := checker{out: t.out, src: at.src, path: []step{{key: g.Key, index: -1}}}
		n.bad = !c.check(n, trialKeys.key(g.Key))
		t.all.entries = append(t.all.entries, e)
	}
}

func (t *trial) unknown(e entry) {
	known := []string{"schedule", "timezone", "utc", "dayMatch"}
	hint := "known are " + andList(known) + ", or in place of schedule " + andList(scheduleFields)
	if near := nearest(e.key, append(known, scheduleFields...)); near != "" {
		hint = "did you mean " + near + "?"
	}
	t.fail(pos{}, "", "there is no "+quote(e.key)+" of a schedule", hint)
}

// complete puts the keys together.
func (t *trial) complete() {
	schedule := t.all.get("schedule")
	switch {
	case schedule != nil && t.fields != nil:
		t.fail(t.fields.pos, t.fields.entries[0].key, t.fields.entries[0].key+" is given, and schedule too", "keep either the schedule or its single fields")
	case t.fields != nil:
		t.all.entries = append(t.all.entries, entry{key: "schedule", pos: t.fields.pos, value: t.fields})
	case schedule == nil && t.out.errors == 0:
		t.fail(pos{}, "schedule", "no schedule is given", `write five fields, such as "0 3 * * *" for every day at 03:00, or a macro such as "@daily"`)
	}
}

// Reason returns the problem without its position, severity and job: message and hint.
func (d Diagnostic) Reason() string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + " (" + d.Hint + ")"
}

// Reasons returns the problems in one line, without their positions.
func (ds Diagnostics) Reasons() string {
	all := make([]string, len(ds))
	for i, d := range ds {
		all[i] = d.Reason()
	}
	return strings.Join(all, "; ")
}
