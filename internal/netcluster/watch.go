package netcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/yacron2/yacron2/gossip/votes"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// lookEvery is the pause between two questions to an agent. Agents without a data
// directory forget their records when they are killed.
const lookEvery = 200 * time.Millisecond

// Record is what a node said of one firing, or of several in a row.
type Record struct {
	Node        string
	First, Last time.Time
	Code        string
	Reason      string
	Holder      string // node name or instance id that has the firing, as far as known
}

// covers reports whether the record is about a firing.
func (r Record) covers(at time.Time) bool { return !at.Before(r.First) && !at.After(r.Last) }

// Watch collects what all nodes say of one job's firings. What is done to the agents is
// done through it, so that it knows when they were there.
type Watch struct {
	cluster *Cluster
	job     string
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.Mutex
	missed   map[Record]bool
	denied   map[Record]bool
	deaths   []Death
	absences []*Absence
}

// Watch begins to ask all nodes about a job. Stop must follow.
func (c *Cluster) Watch(job string) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{cluster: c, job: job, cancel: cancel, missed: map[Record]bool{}, denied: map[Record]bool{}}
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

// ask asks one node again and again. Whether it answers is no matter here.
func (w *Watch) ask(ctx context.Context, n *testcluster.Node) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = w.look(n)
		}
	}
}

// look takes in what a node says now.
func (w *Watch) look(n *testcluster.Node) error {
	asked := time.Now()
	why, err := n.Why(w.job)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered(n, asked)
	for _, m := range why.Missed {
		at := m.Firing.Time.UTC()
		w.missed[Record{Node: n.NodeName, First: at, Last: at, Code: m.Code, Reason: m.Reason}] = true
	}
	for _, d := range why.Decisions {
		if d.Outcome == "denied" {
			w.denied[Record{
				Node: n.NodeName, First: d.First.Time.UTC(), Last: d.Firing.Time.UTC(),
				Code: d.Code, Reason: d.Reason, Holder: string(d.Owner),
			}] = true
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

// Account closes the books on the firings from one instant to another, of a job that fires
// every period and may start until the deadline: what ran, what was recorded, and what
// the disks of the nodes say. All that can still happen to those firings must have
// happened.
func (w *Watch) Account(from, to time.Time, period, deadline time.Duration) (*Account, error) {
	entries, err := w.cluster.Journal.Read()
	if err != nil {
		return nil, err
	}
	a := &Account{
		From: from, To: to, Period: period, Deadline: deadline, Nodes: len(w.cluster.Nodes),
		Ran: entries.Of(w.job).Between(from, to),
	}
	for _, n := range w.cluster.Nodes {
		if n.Running() {
			if err := w.look(n); err != nil {
				return nil, err
			}
		}
		logged, err := missedInLog(n, w.job)
		if err != nil {
			return nil, err
		}
		a.Missed = append(a.Missed, logged...)
		if n.DataDir == "" {
			continue
		}
		granted, err := w.grants(n)
		if err != nil {
			return nil, err
		}
		a.Grants = append(a.Grants, granted...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.missed {
		a.Missed = append(a.Missed, r)
	}
	for r := range w.denied {
		a.Denied = append(a.Denied, r)
	}
	a.Deaths = append(a.Deaths, w.deaths...)
	for _, x := range w.absences {
		a.Absences = append(a.Absences, *x)
	}
	return a, nil
}

// missedInLog returns the losses that a node's processes have logged, which outlive
// them.
func missedInLog(n *testcluster.Node, job string) ([]Record, error) {
	var records []Record
	lines := bufio.NewScanner(strings.NewReader(n.Log()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := missedLine.FindStringSubmatch(lines.Text())
		if m == nil || m[1] != job {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[2])
		if err != nil {
			return nil, fmt.Errorf("log of %s: %q: %w", n.NodeName, lines.Text(), err)
		}
		records = append(records, Record{Node: n.NodeName, First: at.UTC(), Last: at.UTC(), Code: "logged", Reason: m[3]})
	}
	return records, lines.Err()
}

// grants returns the votes that a node has on disk. Its agent may be at work on them: a
// copy that was taken in the middle of that does not fit together, and is taken again.
func (w *Watch) grants(n *testcluster.Node) ([]Grant, error) {
	var err error
	for range 50 {
		var granted []Grant
		if granted, err = w.grantsNow(n); !errors.Is(err, votes.ErrDamaged) {
			return granted, err
		}
	}
	return nil, err
}
