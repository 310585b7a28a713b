package agent

import (
	"time"

	"github.com/yacron2/yacron2/internal/exposition"
	"github.com/yacron2/yacron2/scheduler/history"
)

// jobSeries is a family with samples of each job, or of some.
type jobSeries struct {
	name, help string
	kind       exposition.Kind
	write      func(*exposition.Writer, *jobFigures)
}

func (s jobSeries) append(w *exposition.Writer, f *jobFigures) {
	w.Begin(s.name, s.help, s.kind)
	s.write(w, f)
}

// allJobSeries lists the series of jobs by name.
func allJobSeries() []jobSeries {
	const counter, gauge = exposition.Counter, exposition.Gauge
	return []jobSeries{
		{"yacron2_job_duration_seconds", "How long runs took.", exposition.Histogram, writeDurations},
		{"yacron2_job_enabled", "Whether a job is enabled.", gauge, standing(func(w *exposition.Writer, j jobFigure) {
			writeBool(w, j.Job.Enabled, j.label)
		})},
		{"yacron2_job_firings_missed_total", "Firings that did not run although this node was to run them.", counter, writeMissed},
		{"yacron2_job_info", "The schedule and the cluster policy of a job.", exposition.Info, writeInfo},
		{"yacron2_job_last_failure_timestamp_seconds", "When a run last failed, in Unix time.", gauge, counted(func(w *exposition.Writer, c *jobCounts) {
			writeTime(w, c.lastFailure, c.label)
		})},
		{"yacron2_job_last_run_duration_seconds", "How long the newest run took.", gauge, lastRuns(func(w *exposition.Writer, last *history.Run, job exposition.Labels) {
			if seconds, ok := took(last); ok {
				w.Value(seconds, job)
			}
		})},
		{"yacron2_job_last_run_exit_code", "The exit code of the newest run, negative for signals.", gauge, lastRuns(func(w *exposition.Writer, last *history.Run, job exposition.Labels) {
			if last.ExitCode != nil {
				w.Value(float64(*last.ExitCode), job)
			}
		})},
		{"yacron2_job_last_run_success", "Whether the newest run succeeded.", gauge, lastRuns(func(w *exposition.Writer, last *history.Run, job exposition.Labels) {
			writeBool(w, last.Outcome == history.Success, job)
		})},
		{"yacron2_job_last_run_timestamp_seconds", "When the newest run ended, in Unix time.", gauge, lastRuns(func(w *exposition.Writer, last *history.Run, job exposition.Labels) {
			writeTime(w, last.FinishedAt, job)
		})},
		{"yacron2_job_last_success_timestamp_seconds", "When a run last ended with success, in Unix time.", gauge, counted(func(w *exposition.Writer, c *jobCounts) {
			writeTime(w, c.lastSuccess, c.label)
		})},
		{"yacron2_job_next_run_timestamp_seconds", "When a job is due next, in Unix time.", gauge, standing(func(w *exposition.Writer, j jobFigure) {
			if j.Job.Enabled {
				writeTime(w, j.NextAt, j.label)
			}
		})},
		{"yacron2_job_paused", "Whether a pause keeps a job from firing on this node.", gauge, standing(func(w *exposition.Writer, j jobFigure) {
			writeBool(w, j.Pause != nil, j.label)
		})},
		{"yacron2_job_permanent_failures_total", "Failures after which no retry was left.", counter, counted(func(w *exposition.Writer, c *jobCounts) {
			w.Count(c.permanent, c.label)
		})},
		{"yacron2_job_retries_total", "Retries that were started.", counter, counted(func(w *exposition.Writer, c *jobCounts) {
			w.Count(c.retries, c.label)
		})},
		{"yacron2_job_running", "Running instances of a job.", gauge, standing(func(w *exposition.Writer, j jobFigure) {
			w.Value(float64(j.Instances), j.label)
		})},
		{"yacron2_job_runs_total", "Finished runs.", counter, writeRuns},
		{"yacron2_job_start_failures_total", "Runs that could not be started.", counter, counted(func(w *exposition.Writer, c *jobCounts) {
			w.Count(c.startFailures, c.label)
		})},
	}
}

// counted writes something of what is counted of each job.
func counted(write func(*exposition.Writer, *jobCounts)) func(*exposition.Writer, *jobFigures) {
	return func(w *exposition.Writer, f *jobFigures) {
		for i := range f.counted {
			write(w, &f.counted[i])
		}
	}
}

// standing writes something of how each job stands.
func standing(write func(*exposition.Writer, jobFigure)) func(*exposition.Writer, *jobFigures) {
	return func(w *exposition.Writer, f *jobFigures) {
		for _, j := range f.states {
			write(w, j)
		}
	}
}

// lastRuns writes something of the newest run of each job that has one.
func lastRuns(write func(w *exposition.Writer, last *history.Run, job exposition.Labels)) func(*exposition.Writer, *jobFigures) {
	return standing(func(w *exposition.Writer, j jobFigure) {
		if j.LastRun != nil {
			write(w, j.LastRun, j.label)
		}
	})
}

func writeRuns(w *exposition.Writer, f *jobFigures) {
	var statuses [len(countedOutcomes)]exposition.Labels
	for i, outcome := range countedOutcomes {
		statuses[i] = exposition.AppendLabel(nil, "status", string(outcome))
	}
	for i := range f.counted {
		for k, n := range f.counted[i].runs {
			w.Count(n, f.counted[i].label, statuses[k])
		}
	}
}

func writeDurations(w *exposition.Writer, f *jobFigures) {
	upTo := make([]uint64, len(f.bounds))
	for i := range f.counted {
		c := &f.counted[i]
		sum := uint64(0)
		for k, n := range c.buckets {
			sum += n
			upTo[k] = sum
		}
		w.Buckets(f.bounds, upTo, c.duration, c.timed, c.label)
	}
}

func writeMissed(w *exposition.Writer, f *jobFigures) {
	for i := range f.counted {
		for _, m := range f.counted[i].missed {
			w.Count(m.n, f.counted[i].label, exposition.AppendLabel(nil, "reason", m.code))
		}
	}
}

func writeInfo(w *exposition.Writer, f *jobFigures) {
	var policy, schedule exposition.Labels
	for _, j := range f.states {
		policy = exposition.AppendLabel(policy[:0], "cluster_policy", string(j.Job.ClusterPolicy))
		schedule = exposition.AppendLabel(schedule[:0], "schedule", j.Job.ScheduleText)
		w.Value(1, policy, j.label, schedule)
	}
}

func writeBool(w *exposition.Writer, v bool, job exposition.Labels) {
	n := uint64(0)
	if v {
		n = 1
	}
	w.Count(n, job)
}

// writeTime writes an instant in Unix time, unless it is zero.
func writeTime(w *exposition.Writer, at time.Time, job exposition.Labels) {
	if !at.IsZero() {
		w.Value(unixSeconds(at), job)
	}
}
