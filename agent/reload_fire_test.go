package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// firePace is how often the configuration changes in these tests: it is load, and
// nothing is expected to have happened by then.
const firePace = 100 * time.Millisecond

// brokenFiles are configurations that are refused, each for another reason and at
// another stage of a reload.
var brokenFiles = []string{
	"jobs: {broken\n",
	"jobs:\n  - {name: tick-0, command: x, schedule: '@daily'}\n", // a second job of this name
	"jobs:\n  - {name: extra, command: x, schedule: '61 * * * *'}\n",
	"jobs:\n  - {name: extra, command: x, schedule: '@daily', colour: red}\n",
	"include: [_nowhere.yaml]\n",
	"logging: {file: /nonexistent/folder/log}\n",
	"jobs:\n  - {name: extra, command: x, schedule: '@daily', onFailure: {report: {mail: {from: a, to: b, body: '{% for %}'}}}}\n",
	"web: {listen: ['http://127.0.0.1:1'], authToken: {fromEnvVar: YACRON2_TEST_NO_SUCH_VARIABLE}}\n",
	"jobs:\n  - {name: extra, command: x, schedule: '@daily', user: no-such-user-anywhere}\n",
	"\tjobs: []\n",
}

// fireJobs are jobs that fire every second, all with their line in the journal. What the
// reload of that number changes of them is not when they fire.
func fireJobs(j journal, n, reload int) string {
	var b strings.Builder
	b.WriteString("jobs:\n")
	job := func(name, more string) {
		fmt.Fprintf(&b, "  - name: %s\n    schedule: %s\n    startingDeadline: 300\n    command: '%s%s'\n", name, secondly, j.command(), more)
	}
	for i := range n {
		job(fmt.Sprint("tick-", i), "")
	}
	job("evolving", fmt.Sprint("; : ", reload))
	if reload%2 == 0 {
		job("sometimes", "")
	}
	return b.String()
}

// fired checks that each firing of the jobs in a span ran exactly once, and none of any
// job more often. A busy machine may cost some that agents have on record: those due while
// it kept an agent from all work, and those for which all members asked one after the
// other since none had heard of the other's jobs for too long.
func (j journal) fired(t *testing.T, jobs []string, from, to time.Time, agents ...*Agent) {
	t.Helper()
	for _, job := range jobs {
		eventually(t, "each firing of "+job+" has run, or is told to be lost", func() bool {
			lost := map[string]bool{}
			for _, a := range agents {
				for _, m := range a.history.Missed(job, 1000) {
					if m.Code == scheduler.CodeSuperseded || m.Code == election.CodeSplit {
						lost[m.Firing.UTC().Format(time.RFC3339)] = true
					}
				}
			}
			counts, all, ran := j.counts(t, job), 0, 0
			for at := from.UTC(); !at.After(to); at = at.Add(time.Second) {
				all++
				switch firing := at.Format(time.RFC3339); {
				case counts[firing] > 0:
					ran++
				case !lost[firing]:
					return false // or it is late
				}
			}
			return 4*ran >= 3*all
		})
	}
	for _, job := range append(jobs, "sometimes") {
		for at, n := range j.counts(t, job) {
			if n > 1 {
				t.Errorf("%s at %s ran %d times", job, at, n)
			}
		}
	}
}

func tickNames(n int) []string {
	names := []string{"evolving"}
	for i := range n {
		names = append(names, fmt.Sprint("tick-", i))
	}
	return names
}

// openDescriptors counts this process's file descriptors.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestReloadUnderFire reloads 200 times, by signal, over the API and by the file watch,
// while jobs fire every second and one runs all the time. Every second file is
// broken.
func TestReloadUnderFire(t *testing.T) {
	const ticks, reloads = 8, 200
	j := journal(filepath.Join(t.TempDir(), "journal"))
	a := startAgent(t, fireJobs(j, ticks, 0), "")
	a.write("long.yaml", "jobs: [{name: long, schedule: '@yearly', command: exec sleep 600}]\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.client.Start(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	first := time.Now().Truncate(time.Second).Add(time.Second)
	names := tickNames(ticks)
	for _, name := range names {
		eventually(t, name+" fires", func() bool { return j.ranAt(t, name, first) })
	}
	pid := func() (pid int) {
		eventually(t, "the long job runs once", func() bool {
			status, ok := a.dispatcher.Job("long")
			if ok && len(status.PIDs) == 1 {
				pid = status.PIDs[0]
			}
			return pid != 0
		})
		return pid
	}
	before, descriptors, goroutines := pid(), openDescriptors(t), runtime.NumGoroutine()
	ids := map[string]bool{}
	pace := time.NewTicker(firePace)
	defer pace.Stop()
	good, bad, newest := 0, 0, a.config.Load().JobSetID
	for i := 1; i <= reloads; i++ {
		<-pace.C
		broken := i%2 == 0
		if broken {
			a.write("zz-broken.yaml", brokenFiles[i/2%len(brokenFiles)])
			bad++
		} else {
			a.write("zz-broken.yaml", "")
			a.write("jobs.yaml", fireJobs(j, ticks, i/2))
			good++
		}
		effective := a.config.Load()
		var state string
		switch i % 10 {
		case 4, 9: // nobody asks for it: the file watch has to see it
			eventually(t, "the file watch sees the change", func() bool {
				if broken {
					return a.loadStatus().failure != nil
				}
				return a.config.Load().JobSetID != newest
			})
			state = map[bool]string{true: api.ConfigFailed, false: api.ConfigLoaded}[broken]
		case 2, 3:
			status, err := a.client.Reload(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			state = status.State
		default:
			state = api.ConfigLoaded
			if err := a.Reload(t.Context()); err != nil {
				state = api.ConfigFailed
			}
		}
		if (state == api.ConfigFailed) != broken {
			t.Fatalf("reload %d, broken %v: %s", i, broken, state)
		}
		if broken && a.config.Load() != effective {
			t.Fatalf("reload %d: a broken file is in effect", i)
		}
		newest = a.config.Load().JobSetID
		ids[newest] = true
	}
	a.write("zz-broken.yaml", "")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := time.Now().Truncate(time.Second)
	j.fired(t, names, first, last, a.Agent)
	if pid() != before {
		t.Error("the job that runs all the time was started anew")
	}
	if err := a.client.Cancel(t.Context(), "long"); err != nil {
		t.Error(err)
	}
	if len(ids) != good {
		t.Errorf("%d job sets were in effect, want %d", len(ids), good)
	}
	if s := a.loadStatus(); s.reloads < good || s.failures < bad {
		t.Errorf("counted %d reloads and %d failures", s.reloads, s.failures)
	}

	// What runs at one moment holds a few of each; what leaked would be 200 times as much.
	const slack = 50
	eventually(t, "no descriptor is left over", func() bool { return openDescriptors(t) < descriptors+slack })
	eventually(t, "no goroutine is left over", func() bool { return runtime.NumGoroutine() < goroutines+slack })
}

// TestReloadUnderFireInACluster changes the jobs of all three members again and again:
// between two of them the members disagree for a moment, and next to nothing is lost by it.
func TestReloadUnderFireInACluster(t *testing.T) {
	t.Parallel()
	const ticks, rounds = 2, 60
	j := journal(filepath.Join(t.TempDir(), "journal"))
	members := startMembers(t, 3, fireJobs(j, ticks, 0))
	awaitAgreement(t, members)
	names := tickNames(ticks)
	eventually(t, "the first firing", func() bool { return len(j.counts(t, "tick-0")) > 0 })
	first := time.Now().Truncate(time.Second).Add(time.Second)
	pace := time.NewTicker(2 * firePace)
	defer pace.Stop()
	for i := 1; i <= rounds; i++ {
		<-pace.C
		broken := i%2 == 0
		var all sync.WaitGroup
		for _, m := range members {
			if broken {
				m.write("zz-broken.yaml", brokenFiles[i/2%len(brokenFiles)])
			} else {
				m.write("zz-broken.yaml", "")
				m.write("jobs.yaml", fireJobs(j, ticks, i/2))
			}
			all.Go(func() {
				if err := m.Reload(t.Context()); (err != nil) != broken {
					t.Errorf("%s: reload %d, broken %v: %v", m.name, i, broken, err)
				}
			})
		}
		all.Wait()
	}
	awaitAgreement(t, members)
	j.fired(t, names, first, time.Now().Truncate(time.Second), members[0].Agent, members[1].Agent, members[2].Agent)
}
