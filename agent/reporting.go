package agent

import (
	"time"

	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
	"github.com/yacron2/yacron2/scheduler/report"
	"github.com/yacron2/yacron2/scheduler/run"
)

// reporting passes what the dispatcher tells on to the reporters that the jobs name.
type reporting struct {
	reporter *report.Reporter
	node     string
}

// observe takes one event of the dispatcher.
func (r reporting) observe(e scheduler.Event) {
	switch e.Kind {
	case scheduler.RunStarted:
		if e.Job.Statsd != nil {
			r.reporter.RunStarted(e.Job.Statsd, e.Job.Name)
		}
	case scheduler.RunReplaced:
		r.statsd(e)
	case scheduler.RunFinished:
		r.statsd(e)
		r.finished(e)
	case scheduler.FiringMissed:
		r.missed(e)
	}
}

// statsd tells of the end of a process. Its success is that of the history; a run that
// was replaced has none.
func (r reporting) statsd(e scheduler.Event) {
	if e.Job.Statsd == nil || e.Result == nil || e.Result.PID == 0 {
		return
	}
	success := e.Run != nil && e.Run.Outcome == history.Success
	r.reporter.RunEnded(e.Job.Statsd, e.Job.Name, success, e.Result.FinishedAt.Sub(e.Result.StartedAt))
}

// finished reports a finished run. A failure that has neither a retry nor is permanent
// fell into the agent's end: it is in the history, and nobody is woken for it. Nor for
// what somebody cancelled.
func (r reporting) finished(e scheduler.Event) {
	switch e.Run.Outcome {
	case history.Success:
		r.send(report.OnSuccess, e.Job.OnSuccess, e)
	case history.Failure:
		if !e.Permanent && e.RetryAt.IsZero() {
			return
		}
		r.send(report.OnFailure, e.Job.OnFailure, e)
		if e.Permanent {
			r.send(report.OnPermanentFailure, e.Job.OnPermanentFailure, e)
		}
	}
}

func (r reporting) send(hook report.Hook, hooks *report.Hooks, e scheduler.Event) {
	if hooks == nil {
		return
	}
	out := r.about(hook, e.Job)
	out.Success = e.Run.Outcome == history.Success
	out.FailReason = e.Run.FailReason
	out.ExitCode = e.Run.ExitCode
	out.Environ = e.Environ
	if e.Result != nil {
		out.Stdout, out.Stderr = reportOutput(e.Result.Stdout), reportOutput(e.Result.Stderr)
	}
	out.RunID, out.Trigger, out.Attempt = e.RunID, string(e.Trigger), e.Attempt
	out.Firing, out.StartedAt, out.FinishedAt = e.Firing, e.Run.StartedAt, e.Run.FinishedAt
	r.reporter.Report(hooks, out)
}

// missed reports a firing that was not run.
func (r reporting) missed(e scheduler.Event) {
	if e.Job == nil || e.Job.OnMiss == nil {
		return
	}
	out := r.about(report.OnMiss, e.Job)
	out.FailReason = e.Missed.Reason
	out.Trigger = string(scheduler.TriggerSchedule)
	out.Firing, out.FinishedAt = e.Missed.Firing, e.Missed.At
	r.reporter.Report(e.Job.OnMiss, out)
}

// about returns what a report says of every job.
func (r reporting) about(hook report.Hook, j *scheduler.Job) *report.Report {
	return &report.Report{
		Hook: hook, Job: j.Name, Line: j.Command.Line, Argv: j.Command.Argv, Shell: j.Shell,
		Schedule: j.ScheduleText, Node: r.node,
	}
}

func reportOutput(s run.Stream) report.Output {
	return report.Output{Captured: s.Captured, Text: s.Text, Discarded: s.Discarded}
}

// reportStopLimit bounds how long deliveries under way may hold up the end of the
// process.
const reportStopLimit = 20 * time.Second
