package config

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/yacron2/yacron2/scheduler"
)

// scheduleFields are the keys of a schedule's map form in the order of the line.
var scheduleFields = []string{"minute", "hour", "dayOfMonth", "month", "dayOfWeek", "year"}

type scheduleKey struct {
	text string
	rule scheduler.DayMatch
}

// schedule parses the schedule and points at what is wrong with it.
func (b *jobBuilder) schedule() {
	n := b.own.get("schedule")
	if n == nil || n.bad || n.kind == list {
		return
	}
	text, ok := n.text, true
	if n.kind == mapping {
		text, ok = b.scheduleLine(n)
	}
	if !ok {
		return
	}
	key := scheduleKey{text, scheduler.DayMatchAnd}
	if d := b.all.get("dayMatch"); d != nil && d.text == string(scheduler.DayMatchOr) {
		key.rule = scheduler.DayMatchOr
	}
	b.job.ScheduleText = strings.Join(strings.Fields(text), " ")
	b.job.DayMatch = key.rule
	s, known := b.schedules[key]
	if !known {
		var err error
		if s, err = scheduler.ParseSchedule(text, key.rule); err != nil {
			b.scheduleError(n, text, err)
			return
		}
		b.schedules[key] = s
	}
	b.job.Schedule = s
	for _, w := range s.Warnings() {
		if strings.Contains(w, "dayMatch") && b.all.get("dayMatch") != nil {
			continue // whoever wrote the rule knows it
		}
		b.warn(n, "schedule", w, "")
	}
	b.neverAgain(n, s)
	b.scheduleNotes(n, text)
}

// neverAgain warns of a schedule whose firings are all in the past, or stand at times
// that the clocks of its zone never show.
func (b *jobBuilder) neverAgain(n *node, s *scheduler.Schedule) {
	loc := b.job.Location
	if loc == nil || !s.NeverFires(b.now, loc) || s.NeverFires(time.Time{}, time.UTC) && len(s.Warnings()) > 0 {
		return // it goes on, or the schedule itself has told that no date matches
	}
	message := "the clocks of " + b.job.Timezone + " never show such a time: it never fires"
	if last := s.Prev(b.now, loc); !last.IsZero() {
		message = "no firing is left: the last one was at " + last.In(loc).Format("2006-01-02 15:04:05")
	}
	b.warn(n, "schedule", message, "")
}

// scheduleNotes tells what yacron2 1.2 did not do with the same schedule.
func (b *jobBuilder) scheduleNotes(n *node, text string) {
	note := func(at pos, key, message string) {
		b.out.add(at, Diagnostic{Severity: Note, Job: b.job.Name, Key: key, Message: message})
	}
	if fields := strings.Fields(text); n.kind == scalar && len(fields) == 7 && fields[0] != "0" {
		note(n.pos, "schedule", "this fires at its seconds; yacron2 1.2 looked once a minute, at second 0")
	}
	if y := n.get("year"); y != nil {
		note(y.pos, "schedule.year", "the year counts; yacron2 1.2 ignored it in this form")
	}
}

// scheduleLine joins the map form to a line. A value that is no single field would
// move the columns behind it, so it is refused by its key.
func (b *jobBuilder) scheduleLine(n *node) (string, bool) {
	ok := true
	fields := make([]string, 0, len(scheduleFields))
	for _, key := range scheduleFields {
		v := n.get(key)
		switch {
		case v == nil && key == "year":
		case v == nil:
			fields = append(fields, "*")
		case v.kind != scalar:
			ok = false
		case strings.TrimSpace(v.text) == "":
			b.fail(v, "schedule."+key, spell(n, key)+" is blank", "leave the key out for every "+fieldNoun(key)+", or write \"*\"")
			ok = false
		case len(strings.Fields(v.text)) > 1:
			b.fail(v, "schedule."+key, spell(n, key)+" is one field, not "+quote(v.text),
				"separate several values with commas: "+strings.Join(strings.Fields(v.text), ","))
			ok = false
		default:
			fields = append(fields, strings.TrimSpace(v.text))
		}
	}
	for i := range n.entries {
		if !slices.Contains(scheduleFields, n.entries[i].key) {
			return "", false // reported as an unknown key
		}
	}
	return strings.Join(fields, " "), ok
}

func fieldNoun(key string) string {
	switch key {
	case "dayOfMonth", "dayOfWeek":
		return "day"
	}
	return key
}

// quotationMarks are what people put around values, and word processors in their place.
const quotationMarks = `"'“”„‟‘’‚‛«»`

// scheduleError reports a malformed schedule at the field that is wrong.
func (b *jobBuilder) scheduleError(n *node, text string, err error) {
	var se *scheduler.ScheduleError
	if !errors.As(err, &se) {
		b.fail(n, "schedule", "the schedule "+quote(text)+" cannot be read: "+err.Error(), "")
		return
	}
	at, key := n.at(se.Offset), "schedule"
	message := se.Reason
	if n.kind == mapping {
		at = n.pos
		if field := mapKeyOf(se.Field); field != "" {
			key += "." + field
			if v := n.get(field); v != nil {
				at = v.pos
			}
		}
	}
	if se.Field != "" {
		what := se.Field
		if se.Value != "" && se.Value != text {
			what += " " + quote(se.Value)
		}
		message = what + ": " + message
	}
	hint := se.Hint
	if trimmed := strings.Trim(text, quotationMarks); trimmed != text && n.kind == scalar {
		hint = "remove the quotes inside the value: write " + quote(trimmed)
	}
	b.failAt(at, key, "the schedule "+quote(text)+" cannot be read: "+message, hint)
}

// mapKeyOf returns the key of the map form for a field's name in words.
func mapKeyOf(field string) string {
	plain := plainWord(field)
	for _, key := range scheduleFields {
		if plainWord(key) == plain {
			return key
		}
	}
	return ""
}
