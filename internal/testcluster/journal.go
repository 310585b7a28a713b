package testcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Journal is the file into which jobs write a line when they run. One echo of a short
// line is one append, so lines of several processes never mix.
type Journal string

// Entry is one line of a journal.
type Entry struct {
	Job     string
	Firing  time.Time // zero for a run that is no firing, such as a manual one
	Node    string
	RunID   string
	Attempt int // from 1
}

// noFiring stands for an empty YACRON2_FIRING.
const noFiring = "-"

// Write returns the shell command with which a job writes its entry.
func (j Journal) Write() string {
	return `echo "$YACRON2_JOB_NAME ${YACRON2_FIRING:-` + noFiring +
		`} $YACRON2_NODE $YACRON2_RUN_ID $YACRON2_ATTEMPT" >> ` + string(j)
}

// Read returns all entries in the order in which they were written. A line that is no
// entry is an error: then a job saw a wrong environment.
func (j Journal) Read() (Entries, error) {
	data, err := os.ReadFile(string(j))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries Entries
	for line := range strings.Lines(string(data)) {
		text, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break // still being written
		}
		e, err := parseEntry(text)
		if err != nil {
			return nil, fmt.Errorf("%s: line %q: %w", j, text, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func parseEntry(line string) (Entry, error) {
	f := strings.Split(line, " ")
	if len(f) != 5 || slices.Contains(f, "") {
		return Entry{}, errors.New("not job, firing, node, run and attempt")
	}
	e := Entry{Job: f[0], Node: f[2], RunID: f[3]}
	var err error
	if f[1] != noFiring {
		if e.Firing, err = time.Parse(time.RFC3339, f[1]); err != nil {
			return Entry{}, err
		}
	}
	if e.Attempt, err = strconv.Atoi(f[4]); err != nil {
		return Entry{}, fmt.Errorf("attempt: %w", err)
	}
	return e, nil
}

// Entries are entries in the order in which they were written.
type Entries []Entry

// Of returns the entries of one job.
func (es Entries) Of(job string) Entries {
	return es.filter(func(e Entry) bool { return e.Job == job })
}

// On returns the entries of one node.
func (es Entries) On(node string) Entries {
	return es.filter(func(e Entry) bool { return e.Node == node })
}

// Between returns the entries of firings from one instant to another, both included.
func (es Entries) Between(from, to time.Time) Entries {
	return es.filter(func(e Entry) bool { return !e.Firing.Before(from) && !e.Firing.After(to) })
}

func (es Entries) filter(keep func(Entry) bool) Entries {
	var kept Entries
	for _, e := range es {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// firing identifies what may run only once for a Leader job.
type firing struct {
	job     string
	at      time.Time
	attempt int
}

// Duplicates returns the entries of firings that ran more often than once.
func (es Entries) Duplicates() Entries {
	count := map[firing]int{}
	key := func(e Entry) firing { return firing{e.Job, e.Firing.UTC(), e.Attempt} }
	for _, e := range es {
		if !e.Firing.IsZero() {
			count[key(e)]++
		}
	}
	return es.filter(func(e Entry) bool { return count[key(e)] > 1 })
}

// Times returns how many entries each firing from one instant to another has, both
// included, if the job fires every period. Those that did not run have 0.
func (es Entries) Times(from, to time.Time, period time.Duration) map[time.Time]int {
	times := map[time.Time]int{}
	for at := from.UTC(); !at.After(to); at = at.Add(period) {
		times[at] = 0
	}
	for _, e := range es.Between(from, to) {
		times[e.Firing.UTC()]++
	}
	return times
}

// Each returns an error that lists the firings from one instant to another that did
// not run exactly n times, if the job fires every second. As many runs of a firing may
// lack as are excused.
func (es Entries) Each(from, to time.Time, n int, excused map[time.Time]int) error {
	var wrong []string
	for at, times := range es.Times(from, to, time.Second) {
		if times > n || times+excused[at] < n {
			wrong = append(wrong, fmt.Sprintf("%s ran %d times", at.Format(time.TimeOnly), times))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%d firings did not run %d times: %s", len(wrong), n, strings.Join(wrong, ", "))
}

// RanOn returns the condition that the job has run on a node at an instant or later.
func (j Journal) RanOn(job, node string, from time.Time) func() error {
	return func() error {
		entries, err := j.Read()
		if err != nil {
			return err
		}
		if len(entries.Of(job).On(node).Between(from, time.Now())) == 0 {
			return fmt.Errorf("%s has not run on %s since %s", job, node, from.Format(time.TimeOnly))
		}
		return nil
	}
}

// NextSecond is the first whole second at which nothing can be due any more that was due
// before this call.
func NextSecond() time.Time { return time.Now().Truncate(time.Second).Add(time.Second) }
