package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// runsOf is a history that has the runs of a few jobs.
type runsOf map[string][]history.Run

func (r runsOf) Runs(job string) []history.Run { return r[job] }
func (r runsOf) RecentRuns(job string, n int) []history.Run {
	return slices.Clone(r[job][max(0, len(r[job])-n):])
}
func (r runsOf) Output(string, string) ([]history.Line, error) { return nil, nil }
func (r runsOf) Missed(string, int) []history.Missed           { return nil }
func (r runsOf) Pause(string) (history.Pause, bool)            { return history.Pause{}, false }

// Whatever happens, the list is what encoding all of it anew would give.
func TestJobListIsWhatEncodingGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, runs := &jobList{}, runsOf{}
		now := time.Unix(1_700_000_000, 0).UTC()
		text := rapid.OneOf(rapid.String(), rapid.Just(`x","running":false,"pids":[],"scheduled_in":null,`))
		draw := func(name string) *scheduler.Job {
			return &scheduler.Job{
				Name: name, Enabled: rapid.Bool().Draw(t, "enabled"), ScheduleText: text.Draw(t, "schedule"),
				Command: scheduler.Command{Line: text.Draw(t, "command")}, Timezone: text.Draw(t, "zone"), ClusterPolicy: election.Leader,
			}
		}
		var jobs []scheduler.JobStatus
		for i := range rapid.IntRange(0, 4).Draw(t, "jobs") {
			jobs = append(jobs, scheduler.JobStatus{Job: draw(fmt.Sprint("job-", i))})
		}
		elect := false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1_000_000_000).Draw(t, "passed")))
			if len(jobs) > 0 {
				i := rapid.IntRange(0, len(jobs)-1).Draw(t, "which")
				j := &jobs[i]
				switch rapid.IntRange(0, 7).Draw(t, "what") {
				case 0:
					j.Running, j.PIDs = true, rapid.SliceOfN(rapid.IntRange(1, 1<<22), 0, 3).Draw(t, "pids")
				case 1:
					j.Running, j.PIDs = false, nil
					run := history.Run{ID: fmt.Sprint(j.Job.Name, "#", len(runs[j.Job.Name])), Outcome: history.Success, StartedAt: now.Add(-time.Second), FinishedAt: now, FailReason: text.Draw(t, "reason")}
					runs[j.Job.Name] = append(runs[j.Job.Name], run)
					j.LastRun = &run
				case 2:
					j.NextAt = now.Add(time.Duration(rapid.Int64Range(-1, 1<<40).Draw(t, "next")))
				case 3:
					j.Pause = &history.Pause{Job: j.Job.Name, Since: now, Note: text.Draw(t, "note")}
				case 4:
					j.Pause = nil
				case 5:
					j.Job = draw(j.Job.Name) // a reload
				case 6:
					jobs = slices.Delete(jobs, i, i+1)
				case 7:
					elect = !elect
				}
			}
			got, err := list.append(jobs, now, elect, nil, runs)
			if err != nil {
				t.Fatal(err)
			}
			all := make([]api.Job, len(jobs))
			for i, j := range jobs {
				all[i] = apiJob(j, now, elect, nil, runs)
			}
			want, err := api.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
	})
}

// Numbers are written as the encoder writes them.
func FuzzNumber(f *testing.F) {
	for _, v := range []float64{0, 1e-7, 1e-6, 0.1, 59.999999999, 1e9, 1e21, 123456789.123456789} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		want, err := json.Marshal(v)
		if err != nil {
			want = []byte("null")
		}
		if got := appendNumber(nil, v); string(got) != string(want) {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	})
}

// What is kept for dashboards goes when there is none.
func TestJobListForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := &jobList{}
		jobs := []scheduler.JobStatus{{Job: &scheduler.Job{Name: "a"}}}
		kept := func() bool {
			list.mu.Lock()
			defer list.mu.Unlock()
			return list.parts != nil
		}
		ask := func() {
			t.Helper()
			if _, err := list.append(jobs, time.Now(), false, nil, runsOf{}); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		<-time.After(jobListIdle - time.Second)
		ask()
		<-time.After(jobListIdle - time.Second)
		if !kept() {
			t.Error("forgotten although somebody asks")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if kept() {
			t.Error("kept although nobody asks")
		}
		ask()
	})
}
