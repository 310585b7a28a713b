package netcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yacron2/yacron2/gossip/votes"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// lookEvery is the pause between two questions to an agent about one job. Agents without a data
// directory forget their records when they are killed.
const lookEvery = 200 * time.Millisecond

// Record is what a node said of one firing of a job, or of several in a row.
type Record struct {
	Node        string
	Job         string
	First, Last time.Time
	Code        string
	Reason      string
	Holder      string // node name or instance id that has the firing, as far as known
}

// covers reports whether the record is about a firing.
func (r Record) covers(at time.Time) bool { return !at.Before(r.First) && !at.After(r.Last) }

// Watch collects what all nodes say of the firings of some jobs. What is done to the
// agents is done through it, so that it knows when they were there.
type Watch struct {
	cluster *testcluster.Cluster
	jobs    []string
	every   time.Duration
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.Mutex
	missed   map[Record]bool
	denied   map[Record]bool
	passed   map[Record]bool
	deaths   []Death
	absences []*Absence
}

// Watch begins to ask all nodes about a job. Stop must follow.
func (c *Cluster) Watch(job string) *Watch { return NewWatch(c.Cluster, lookEvery, job) }

// NewWatch begins to ask all nodes of a cluster, on whatever network it is, about some
// jobs: all of them once in a while. Stop must follow.
func NewWatch(c *testcluster.Cluster, every time.Duration, jobs ...string) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{
		cluster: c, jobs: jobs, every: every, cancel: cancel,
		missed: map[Record]bool{}, denied: map[Record]bool{}, passed: map[Record]bool{},
	}
	for _, n := range c.Nodes {
		w.wg.Go(func() { w.ask(ctx, n) })
	}
	return w
}

// Stop ends the questions.
func (w *Watch) Stop() {
	w.cancel()
	w.wg.Wait()
}

// ask asks one node again and again, about one job at a time. Whether it answers is no
// matter here.
func (w *Watch) ask(ctx context.Context, n *testcluster.Node) {
	tick := time.NewTicker(w.every / time.Duration(len(w.jobs)))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = w.look(n, w.jobs[i%len(w.jobs)])
		}
	}
}

// LookAt takes in what a node says now of all jobs, as far as it answers.
func (w *Watch) LookAt(n *testcluster.Node) error {
	for _, job := range w.jobs {
		if err := w.look(n, job); err != nil {
			return err
		}
	}
	return nil
}

// mustLookAt is LookAt for an agent that is there, on a machine that may be very busy: each
// question is asked again until it is answered.
func (w *Watch) mustLookAt(n *testcluster.Node) error {
	for _, job := range w.jobs {
		err := w.look(n, job)
		for again := 0; err != nil && again < 10; again++ {
			err = w.look(n, job)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// look takes in what a node says now of a job.
func (w *Watch) look(n *testcluster.Node, job string) error {
	asked := time.Now()
	why, err := n.Why(job)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered(n, asked)
	for _, m := range why.Missed {
		at := m.Firing.Time.UTC()
		w.missed[Record{Node: n.NodeName, Job: job, First: at, Last: at, Code: m.Code, Reason: m.Reason}] = true
	}
	for _, d := range why.Decisions {
		r := Record{
			Node: n.NodeName, Job: job, First: d.First.Time.UTC(), Last: d.Firing.Time.UTC(),
			Code: d.Code, Reason: d.Reason, Holder: string(d.Owner),
		}
		switch {
		case d.Outcome == "denied":
			w.denied[r] = true
		case d.Outcome == "skipped" && (d.Code == "running" || d.Code == "running-elsewhere"):
			w.passed[r] = true
		}
	}
	return nil
}

var (
	joinedLine = regexp.MustCompile(`taking part in the cluster:.* instance=([0-9a-f]{32})`)
	missedLine = regexp.MustCompile(`firing missed: job=(\S+) firing=(\S+) reason=(.*)`)
)

// instances returns the instance ids of a node's processes, in their order.
func instances(n *testcluster.Node) []string {
	var ids []string
	for _, m := range joinedLine.FindAllStringSubmatch(n.Log(), -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// Timing is when a job fires and how long after that it may start.
type Timing struct {
	Job      string
	Period   time.Duration
	Deadline time.Duration
	// Lasts is how long a run takes, if the job forbids a second one beside it, else 0.
	Lasts time.Duration
}

// Account is Accounts for a Watch of one job.
func (w *Watch) Account(from, to time.Time, period, deadline time.Duration) (*Account, error) {
	all, err := w.Accounts(from, to, Timing{Job: w.jobs[0], Period: period, Deadline: deadline})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Accounts closes the books on the firings from one instant to another of jobs that are
// watched, in their order: what ran, what was recorded, and what the disks of the nodes
// say. All that can still happen to those firings must have happened. From must be an
// instant at which all of them fire.
func (w *Watch) Accounts(from, to time.Time, timings ...Timing) ([]*Account, error) {
	entries, err := w.cluster.Journal.Read()
	if err != nil {
		return nil, err
	}
	var cast []Grant
	var logged []Record
	for _, n := range w.cluster.Nodes {
		if n.Running() {
			if err := w.mustLookAt(n); err != nil {
				return nil, err
			}
		}
		lost, err := missedInLog(n)
		if err != nil {
			return nil, err
		}
		logged = append(logged, lost...)
		if n.DataDir == "" {
			continue
		}
		granted, err := grants(n)
		if err != nil {
			return nil, err
		}
		cast = append(cast, granted...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var accounts []*Account
	for _, t := range timings {
		a := &Account{
			From: from, To: to, Period: t.Period, Deadline: t.Deadline, Lasts: t.Lasts, Nodes: len(w.cluster.Nodes),
			Ran:    entries.Of(t.Job).Between(from, to),
			Missed: append(of(t.Job, slices.Values(logged)), of(t.Job, maps.Keys(w.missed))...),
			Denied: of(t.Job, maps.Keys(w.denied)),
			Passed: of(t.Job, maps.Keys(w.passed)),
			Deaths: slices.Clone(w.deaths),
		}
		for _, g := range cast {
			if g.Job == t.Job {
				a.Grants = append(a.Grants, g)
			}
		}
		for _, x := range w.absences {
			a.Absences = append(a.Absences, *x)
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}

// of returns the records of a job.
func of(job string, all iter.Seq[Record]) []Record {
	var records []Record
	for r := range all {
		if r.Job == job {
			records = append(records, r)
		}
	}
	return records
}

// missedInLog returns the losses that a node's processes have logged, which outlive
// them.
func missedInLog(n *testcluster.Node) ([]Record, error) {
	var records []Record
	lines := bufio.NewScanner(strings.NewReader(n.Log()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := missedLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[2])
		if err != nil {
			return nil, fmt.Errorf("log of %s: %q: %w", n.NodeName, lines.Text(), err)
		}
		records = append(records, Record{Node: n.NodeName, Job: m[1], First: at.UTC(), Last: at.UTC(), Code: "logged", Reason: m[3]})
	}
	return records, lines.Err()
}

// grants returns the votes that a node has on disk. Its agent may be at work on them: a
// copy that was taken in the middle of that does not fit together, and is taken again.
func grants(n *testcluster.Node) ([]Grant, error) {
	var err error
	for range 50 {
		var granted []Grant
		if granted, err = grantsNow(n); !errors.Is(err, votes.ErrDamaged) {
			return granted, err
		}
	}
	return nil, err
}
