package agent

import (
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/api"
)

// Bounds of what is kept of the log for those who follow it over the API.
const (
	linesKept = 1024
	lineLimit = 8 << 10 // bytes of the texts of one line

	// monitorLinger is how long lines are recorded on for a reader that is gone: so long
	// it may come back without missing any.
	monitorLinger = 30 * time.Second
)

// monitor records lines of the log for those who follow it: always those that the log
// itself writes, so that a newcomer sees what has led to the present, and lower levels
// while somebody wants them. The mutex of the logs guards it.
type monitor struct {
	lines  *feed
	own    hclog.Level // of the log itself
	open   map[hclog.Level]int
	linger map[hclog.Level]time.Time // until when a level is recorded without a reader
}

func newMonitor(epoch string) *monitor {
	return &monitor{lines: newFeed(epoch, linesKept), own: hclog.Info, open: make(map[hclog.Level]int), linger: make(map[hclog.Level]time.Time)}
}

// level is the lowest that is recorded.
func (m *monitor) level() hclog.Level {
	lowest := m.own
	for level, n := range m.open {
		if n > 0 {
			lowest = min(lowest, level)
		}
	}
	for level := range m.linger {
		lowest = min(lowest, level)
	}
	return lowest
}

// expire forgets whom lines need not be recorded for any longer, and reports whether
// there was any.
func (m *monitor) expire(now time.Time) bool {
	before := len(m.linger)
	maps.DeleteFunc(m.linger, func(_ hclog.Level, until time.Time) bool { return !now.Before(until) })
	return len(m.linger) < before
}

// record takes one line of the log. What it says is put into words at once: the values
// may change.
func (m *monitor) record(now time.Time, name string, level hclog.Level, msg string, args []any) {
	if level < m.level() {
		return
	}
	line := &api.AgentLine{At: api.At(now), Level: level.String(), Component: name}
	room := lineLimit
	line.Message = cut(msg, &room)
	for len(args) > 0 && room > 0 {
		key, value := hclog.MissingKey, args[0]
		if len(args) > 1 {
			key, value = fmt.Sprint(args[0]), args[1]
		}
		args = args[min(2, len(args)):]
		if line.Fields == nil {
			line.Fields = make(map[string]string)
		}
		line.Fields[cut(key, &room)] = cut(valueText(value), &room)
	}
	m.lines.add(told{kind: api.EventLine, level: level, wire: &wireValue{value: line}})
}

// valueText puts a value into words as the log does.
func valueText(v any) string {
	switch v := v.(type) {
	case hclog.Format:
		if len(v) == 0 {
			return ""
		}
		return fmt.Sprintf(fmt.Sprint(v[0]), v[1:]...)
	case hclog.Hex:
		return fmt.Sprintf("0x%x", int(v))
	case hclog.Octal:
		return fmt.Sprintf("0%o", int(v))
	case hclog.Binary:
		return fmt.Sprintf("0b%b", int(v))
	}
	return fmt.Sprint(v)
}

// cut takes from room what text needs, and what is beyond it from text.
func cut(text string, room *int) string {
	const mark = "…"
	if len(text) <= *room {
		*room -= len(text)
		return text
	}
	keep := *room
	*room = 0
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	return strings.Clone(text[:keep]) + mark
}

// levelFilter is the lowest level that a reader wants.
type levelFilter hclog.Level

func (f levelFilter) wants(t *told) bool { return t.level >= hclog.Level(f) }

// follow returns a reader of the lines of a level and above, beginning after the one of
// an id, or with the last of those that are kept. known is false if lines may be missing
// before the first. It must be released.
func (l *logs) follow(level hclog.Level, after string, last int) (r *feedReader, known bool, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.monitor.expire(time.Now())
	recorded := l.monitor.level() <= level
	l.monitor.open[level]++
	l.admit()
	r, known = l.monitor.lines.reader(levelFilter(level).wants, after, last)
	return r, known && (recorded || after == ""), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.monitor.open[level]--
		l.monitor.linger[level] = time.Now().Add(monitorLinger)
		l.admit()
	}
}

// admit lets components think that a level is logged for which they would not even put
// a line together. mu is held.
func (l *logs) admit() { l.root.SetLevel(l.monitor.level()) }
