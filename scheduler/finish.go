package scheduler

import (
	"fmt"
	"slices"

	"github.com/yacron2/yacron2/scheduler/history"
	"github.com/yacron2/yacron2/scheduler/run"
)

// finish records an instance that has ended, once and for everyone, and sees to its
// retries and to whoever waited for its end.
func (d *Dispatcher) finish(inst *instance) {
	var result run.Result
	if inst.process != nil {
		result = inst.process.Result()
	}
	d.mu.Lock()
	ending := inst.ending
	d.mu.Unlock()
	record := d.outcome(inst, ending, result)
	switch {
	case record != nil:
		// While the job still counts as running: whoever sees it ended finds the
		// record.
		d.noteHistory(inst.job, d.cfg.History.AddRun(*record))
	case inst.process != nil:
		d.noteHistory(inst.job, d.cfg.History.DropStarted(inst.id))
	}

	var environ []string
	if inst.job.reported() && len(inst.job.Environment) > 0 {
		environ = d.environmentOf(inst)
	}

	d.mu.Lock()
	e := inst.entry
	if i := slices.Index(e.instances, inst); i >= 0 {
		e.instances = slices.Delete(e.instances, i, i+1)
	}
	d.live.add(e.name, -1)
	event := inst.event(RunReplaced, d.now())
	event.Run, event.Result, event.Environ = record, &result, environ
	switch {
	case record == nil:
		if inst.process == nil && inst.firing != nil {
			d.decide(inst.firing, verdict{outcome: DecidedSkipped, code: CodeReplaced,
				reason: "a newer launch took its place before it started"})
		}
	case record.Outcome == history.Failure:
		event.Kind = RunFinished
		if d.phase == phaseRunning {
			event.RetryAt = d.armRetry(inst.retry, inst.job)
			event.Permanent = event.RetryAt.IsZero()
		}
	default:
		event.Kind = RunFinished
		if inst.retry != nil && inst.retry == e.retry {
			d.cancelRetry(e)
		}
	}
	if inst.process != nil {
		d.logs.keep(e, inst.id, inst.process.Log())
	}
	if len(e.instances) == 0 {
		if r := e.retry; r != nil && r.waiting {
			d.arm(r, 0)
		}
		if e.job == nil && d.entries[e.name] == e {
			delete(d.entries, e.name)
		}
	}
	d.records.event(event)
	close(inst.done)
	d.release()
	d.mu.Unlock()
	d.logFinished(inst, record)
}

// outcome evaluates how an instance ended; nil if that leaves no record.
func (d *Dispatcher) outcome(inst *instance, ending ending, result run.Result) *history.Run {
	if ending == endReplaced {
		return nil
	}
	record := &history.Run{
		ID: inst.id, Job: inst.job.Name, Firing: inst.at(), Trigger: string(inst.trigger),
		Attempt: inst.attempt, Node: d.cfg.Node,
	}
	if inst.process == nil {
		record.FinishedAt = d.now()
	} else {
		code := result.ExitCode
		record.ExitCode = &code
		// The end is where the monotonic clock puts it, so that the time between both
		// stays right whatever was done to the wall clock.
		record.StartedAt = result.StartedAt.Round(0)
		record.FinishedAt = record.StartedAt.Add(result.Duration())
		record.Notes = result.Notes
		record.UserCPU, record.SystemCPU, record.MaxRSS = result.UserCPU, result.SystemCPU, result.MaxRSS
		record.Output = lastLines(inst.process)
		if result.TimedOut {
			record.Notes = append([]string{"ended by its executionTimeout of " + inst.job.ExecutionTimeout.String()}, record.Notes...)
		}
		if result.StartError != "" {
			record.Notes = append([]string{"not started: " + result.StartError}, record.Notes...)
		}
	}
	switch ending {
	case endCancelled:
		record.Outcome, record.FailReason = history.Cancelled, "cancelled via web UI"
	case endShutdown:
		record.Outcome, record.FailReason = history.Cancelled, "cancelled: the agent was stopped"
	default:
		record.FailReason = failReason(inst.job.FailsWhen, result)
		record.Outcome = history.Success
		if record.FailReason != "" {
			record.Outcome = history.Failure
		}
	}
	return record
}

// noteHistory logs that the history did not take a record.
func (d *Dispatcher) noteHistory(job *Job, err error) {
	if err != nil {
		d.log.Error("history not written", "job", job.Name, "error", err)
	}
}

// lastLines returns the last lines that a process wrote, of which the history keeps
// what it has room for.
func lastLines(p Process) []history.Line {
	log := p.Log()
	if log == nil || log.Size() == 0 {
		return nil
	}
	lines := log.Last(history.OutputLines)
	out := make([]history.Line, len(lines))
	for i, line := range lines {
		out[i] = history.Line{Stream: line.Stream, Text: line.Text}
	}
	return out
}

// failReason says why a run counts as failed, "" if it does not. The first reason that
// holds wins.
func failReason(fails FailsWhen, result run.Result) string {
	switch {
	case fails.Always:
		return "failsWhen=always"
	case fails.NonzeroReturn && result.ExitCode != 0:
		return fmt.Sprintf("failsWhen=nonzeroReturn and retcode=%d", result.ExitCode)
	case fails.ProducesStdout && result.Stdout.Captured && !result.Stdout.Empty():
		return "failsWhen=producesStdout and stdout is not empty"
	case fails.ProducesStderr && result.Stderr.Captured && !result.Stderr.Empty():
		return "failsWhen=producesStderr and stderr is not empty"
	}
	return ""
}

// logFinished tells the log about an ended instance, without any of its output.
func (d *Dispatcher) logFinished(inst *instance, record *history.Run) {
	if record == nil {
		d.log.Info("job replaced", "job", inst.job.Name, "run", inst.id)
		return
	}
	args := []any{"job", record.Job, "run", record.ID, "outcome", record.Outcome}
	if record.ExitCode != nil {
		args = append(args, "exit_code", *record.ExitCode, "duration", record.FinishedAt.Sub(record.StartedAt))
	}
	if record.Outcome == history.Success {
		d.log.Info("job succeeded", args...)
		return
	}
	args = append(args, "reason", record.FailReason)
	if len(record.Notes) > 0 {
		args = append(args, "notes", record.Notes)
	}
	d.log.Warn("job "+map[history.Outcome]string{history.Failure: "failed", history.Cancelled: "cancelled"}[record.Outcome], args...)
}
