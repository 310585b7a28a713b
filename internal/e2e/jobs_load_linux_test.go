package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// usage is what an agent holds at a moment.
type usage struct {
	descriptors, threads, goroutines int
	rss                              int64
}

func (a *alone) usage() usage {
	a.t.Helper()
	return usage{a.Descriptors(), a.Threads(), int(a.metric("go_goroutines")), a.RSS()}
}

// metric returns the value of a series without labels.
func (a *alone) metric(name string) float64 {
	a.t.Helper()
	for _, line := range strings.Split(a.get("/metrics"), "\n") {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				a.t.Fatal(err)
			}
			return value
		}
	}
	a.t.Fatalf("no %s in /metrics", name)
	return 0
}

// moreMemory is how much more memory counts as none: the heap of a Go program comes and
// goes by some megabytes, and the race detector keeps its notes on what is long gone.
func moreMemory() int64 {
	if testcluster.RaceEnabled {
		return 96 << 20
	}
	return 12 << 20
}

// awaitNoMoreThan waits until the agent holds no more than before, but for a few
// descriptors of the test's own connections, threads that the runtime may start, and
// some memory.
func (a *alone) awaitNoMoreThan(before usage, when string) {
	a.t.Helper()
	testcluster.Eventually(a.t, "no more than before "+when, func() error {
		now := a.usage()
		if now.descriptors > before.descriptors+3 || now.threads > before.threads+6 || now.goroutines > before.goroutines+6 || now.rss > before.rss+moreMemory() {
			return fmt.Errorf("%+v, before %+v", now, before)
		}
		return nil
	})
}

// Many runs of jobs that write and fail, in two equal parts: after the second one the
// agent holds what it held after the first.
func TestManyRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	const perPart = 150 // runs of each job
	names := []string{"s1", "s2", "s3", "s4"}
	jobs := []testcluster.Job{
		{Name: "s1", Schedule: byHand, Command: "head -c 2000 /dev/zero | tr '\\0' a", More: captured},
		{Name: "s2", Schedule: byHand, Command: "head -c 2000 /dev/zero | tr '\\0' b; exit 1", More: captured},
		{Name: "s3", Schedule: byHand, Command: "true"},
		{Name: "s4", Schedule: byHand, Command: "false"},
		{Name: "each-second", Command: "echo 1", More: captured},
	}
	a := startAlone(t, jobs...)
	part := func() {
		t.Helper()
		var wg sync.WaitGroup
		for _, name := range names {
			wg.Go(func() {
				for range perPart {
					if err := a.Client.Start(a.context(), name); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		testcluster.Eventually(t, "the end of all runs", func() error {
			jobs, err := a.Client.Jobs(a.context())
			if err != nil {
				return err
			}
			for _, j := range jobs {
				if j.Running && j.Name != "each-second" {
					return errors.New(j.Name + " runs")
				}
			}
			return nil
		})
	}
	part() // more than the history keeps of each job
	before := a.usage()
	for i := range 3 {
		part()
		a.awaitNoMoreThan(before, fmt.Sprintf("part %d", i+2))
	}
	for _, name := range names {
		if n := len(a.runs(name)); n != 50 {
			t.Errorf("%d runs of %s are kept, want 50", n, name)
		}
	}
	if why, err := a.Why("each-second"); err != nil || len(why.Missed) > 0 {
		t.Errorf("missed %+v, %v", why.Missed, err)
	}
}

// Readers of logs that vanish, and reloads of a changed configuration, leave nothing.
func TestReadersAndReloadsLeaveNothing(t *testing.T) {
	t.Parallel()
	job := func(n int) []testcluster.Job {
		return []testcluster.Job{
			{Name: "long", Schedule: byHand, Command: "echo begun; exec sleep 600", More: captured},
			{Name: fmt.Sprintf("changes-%d", n), Command: "echo " + strconv.Itoa(n), More: captured},
		}
	}
	a := startAlone(t, job(0)...)
	a.launch("long")
	read := func(n int) {
		t.Helper()
		ctx, vanish := context.WithCancel(a.context())
		defer vanish()
		var wg sync.WaitGroup
		var reading sync.WaitGroup
		reading.Add(n)
		for range n {
			wg.Go(func() {
				client, err := api.NewClient(api.ClientConfig{Address: a.API()})
				if err != nil {
					t.Error(err)
					reading.Done()
					return
				}
				defer client.Close()
				began := false
				_, err = client.Logs(ctx, "long", func(api.LogLine) error { began = true; reading.Done(); return nil })
				if !began {
					t.Errorf("a reader got no line: %v", err)
					reading.Done()
				}
			})
		}
		reading.Wait()
		vanish()
		wg.Wait()
	}
	reload := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			a.WriteJobs(job(n)...)
			if status, err := a.Client.Reload(a.context()); err != nil || status.State != api.ConfigLoaded {
				t.Fatalf("reload %d: %+v, %v", n, status, err)
			}
		}
	}
	read(100)
	reload(1, 20)
	before := a.usage()
	for range 4 {
		read(100)
	}
	a.awaitNoMoreThan(before, "500 readers")
	reload(20, 120)
	a.awaitNoMoreThan(before, "120 reloads")
	if err := a.Client.Cancel(a.context(), "long"); err != nil {
		t.Error(err)
	}
}

// A crontab names its jobs by line. When all lines move, the series of the old names
// go, and no label tells what runs.
func TestSeriesFollowTheJobs(t *testing.T) {
	t.Parallel()
	a := newAlone(t, testcluster.Options{})
	crontab := func(comments int) {
		var b strings.Builder
		for i := range comments {
			fmt.Fprintf(&b, "# %d\n", i)
		}
		for i := range 5 {
			// Not due now: the series of a run that goes on are there until the next reload.
			fmt.Fprintf(&b, "0 0 29 2 * true tell-no-one-%d\n", i)
		}
		a.WriteFile("some.crontab", b.String())
	}
	crontab(0)
	a.begin()
	series := func() map[string]int {
		names := map[string]int{}
		page := bufio.NewScanner(strings.NewReader(a.get("/metrics")))
		label := regexp.MustCompile(`job_name="([^"]*)"`)
		for page.Scan() {
			if strings.Contains(page.Text(), "tell-no-one") {
				t.Errorf("a label tells the command: %s", page.Text())
			}
			if m := label.FindStringSubmatch(page.Text()); m != nil {
				names[m[1]]++
			}
		}
		return names
	}
	before := series()
	if len(before) != 6 { // and the job of the other file
		t.Fatalf("series of %v", before)
	}
	for n := 1; n <= 30; n++ {
		crontab(n)
		if status, err := a.Client.Reload(a.context()); err != nil || status.State != api.ConfigLoaded {
			t.Fatalf("reload %d: %+v, %v", n, status, err)
		}
		if n%10 == 0 {
			now := series()
			if len(now) != 6 || now["some.crontab:"+strconv.Itoa(n+1)] == 0 || now["some.crontab:1"] > 0 {
				t.Errorf("after %d reloads there are series of %v", n, now)
			}
		}
	}
}

// While a job writes as fast as it can, the agent's memory stays bounded, others run
// every second, and both ends of the output are kept.
func TestJobFloodsItsOutput(t *testing.T) {
	t.Parallel()
	got := newSink(t)
	const lines = 2_500_000 // 120 MB
	a := newAlone(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		return []testcluster.Job{
			{Name: "flood", Schedule: byHand,
				Command: fmt.Sprintf(`echo FIRST; yes "the quick brown fox jumps over the lazy dog 0123" | head -n %d; echo LAST`, lines),
				More:    captured + "onSuccess:\n  report:\n    webhook:\n      url: {value: \"" + got.URL + "\"}\n      body: \"{{ stdout }}\"\n"},
			{Name: "tick", Command: j.Write()},
		}
	}})
	a.Prepare = func(cmd *exec.Cmd) { cmd.Stdout = nil } // else all of it would be written into the log
	a.begin()
	a.awaitRuns("tick", 1)
	before := a.RSS()
	from := testcluster.NextSecond()
	r := a.run("flood")
	to := time.Now().Add(-time.Second).Truncate(time.Second)
	if r.Outcome != api.OutcomeSuccess {
		t.Errorf("the run: %+v", r)
	}
	text := got.await(1)[0]
	if grown := a.PeakRSS() - before; grown > moreMemory() {
		t.Errorf("the agent's memory grew by %d MiB", grown>>20)
	}
	if !strings.HasPrefix(text, "FIRST\nthe quick") || !strings.HasSuffix(text, "0123\nLAST\n") || !strings.Contains(text, fmt.Sprintf("[... %d lines dropped ...]", lines+2-4096)) {
		t.Errorf("the report has %d bytes: %.80q ... %q", len(text), text, text[max(0, len(text)-80):])
	}
	if to.After(from) {
		testcluster.Eventually(t, "the firings during the flood", ranEach(a.cluster, "tick", from, int(to.Sub(from).Seconds())+1, 1))
	}
	t.Logf("%d MB took %.1fs, the agent's memory grew by %d MiB", lines*49/1_000_000, *r.Duration, (a.PeakRSS()-before)>>20)
}
