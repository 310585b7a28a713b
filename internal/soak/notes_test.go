//go:build linux

package soak

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

const (
	// noteEvery is the pause between two notes of what agents hold.
	noteEvery = time.Second
	// patience bounds the question to an agent, which may be starting.
	patience = 2 * time.Second
)

// held is what an agent holds at a moment.
type held struct {
	rss                              int64 // bytes
	descriptors, threads, goroutines int
}

// notes are what the agents held over the whole time, by node. They are taken between
// rounds, when all agents are there and the same one leads: what an agent holds while
// others are away is that of the jobs that it runs for them. Each taking lasts a cycle of
// all jobs, so that it sees the same of their runs as any other.
type notes struct {
	names  []string // in their order
	taken  map[string][][]held
	client *http.Client
}

func newNotes(c *testcluster.Cluster) *notes {
	n := &notes{taken: map[string][][]held{}, client: &http.Client{Timeout: patience}}
	for _, node := range c.Nodes {
		n.names = append(n.names, node.NodeName)
	}
	return n
}

// take notes what all agents hold, again and again from one instant to another.
func (n *notes) take(t *testing.T, c *testcluster.Cluster, from, to time.Time) {
	t.Helper()
	for _, name := range n.names {
		n.taken[name] = append(n.taken[name], nil)
	}
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for now := time.Now(); now.Before(to); now = <-tick.C {
		if now.Before(from) {
			continue
		}
		for _, node := range c.Nodes {
			n.note(t, node)
		}
	}
}

// note notes what an agent holds now, if it answers.
func (n *notes) note(t *testing.T, node *testcluster.Node) {
	t.Helper()
	goroutines, err := n.goroutines(node)
	if err != nil || !node.Running() {
		return
	}
	takings := n.taken[node.NodeName]
	last := &takings[len(takings)-1]
	*last = append(*last, held{rss: node.RSS(), descriptors: node.Descriptors(), threads: node.Threads(), goroutines: goroutines})
}

// goroutines asks the agent's metrics how many goroutines it has.
func (n *notes) goroutines(node *testcluster.Node) (int, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, node.API()+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(page)) {
		if value, found := strings.CutPrefix(line, "go_goroutines "); found {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("%s: no go_goroutines", node.NodeName)
}

// quarter returns what a node held in the first (0) to last (3) quarter of all takings, or
// in the first and the last where there are but a few: the median of its memory, and the
// least of what also goes up and down with the runs of a moment.
func (n *notes) quarter(name string, i int) held {
	takings := n.taken[name]
	from := len(takings) * i / 4
	part := slices.Concat(takings[from:max(from+1, len(takings)*(i+1)/4)]...)
	median := func(of func(held) int64) int64 {
		var values []int64
		for _, h := range part {
			values = append(values, of(h))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	least := func(of func(held) int) int {
		value := of(part[0])
		for _, h := range part {
			value = min(value, of(h))
		}
		return value
	}
	return held{
		rss:         median(func(h held) int64 { return h.rss }),
		descriptors: least(func(h held) int { return h.descriptors }),
		threads:     least(func(h held) int { return h.threads }),
		goroutines:  least(func(h held) int { return h.goroutines }),
	}
}

// enough tells whether a node was noted often enough to compare quarters.
func (n *notes) enough(name string) bool {
	return len(n.taken[name]) >= 2 && !slices.ContainsFunc(n.taken[name], func(taking []held) bool {
		return len(taking) < int(cycle/noteEvery)/2
	})
}

// String returns a table of all quarters.
func (n *notes) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "node\tquarter\tmemory, MB\tdescriptors\tthreads\tgoroutines\t")
	for _, name := range n.names {
		if !n.enough(name) {
			continue
		}
		for i := range 4 {
			q := n.quarter(name, i)
			fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%d\t%d\t\n", name, i+1, float64(q.rss)/(1<<20), q.descriptors, q.threads, q.goroutines)
		}
	}
	_ = w.Flush() // into memory
	return b.String()
}

// mustBeFlat fails the test if an agent holds more in the last quarter than in the first,
// but for what the histories of all jobs take until they are full.
func (n *notes) mustBeFlat(t *testing.T) {
	t.Helper()
	const moreMemory = 24 << 20
	for _, name := range n.names {
		if !n.enough(name) {
			t.Errorf("%s was not seen often enough: %v", name, n.taken[name])
			continue
		}
		first, last := n.quarter(name, 0), n.quarter(name, 3)
		if last.rss > first.rss+moreMemory {
			t.Errorf("the memory of %s grew from %d to %d MB", name, first.rss>>20, last.rss>>20)
		}
		for _, c := range []struct {
			what        string
			first, last int
			more        int // that counts as none
		}{
			{"descriptors", first.descriptors, last.descriptors, 10},
			{"threads", first.threads, last.threads, 6},
			{"goroutines", first.goroutines, last.goroutines, 20},
		} {
			if c.last > c.first+c.more {
				t.Errorf("the %s of %s grew from %d to %d", c.what, name, c.first, c.last)
			}
		}
	}
}
