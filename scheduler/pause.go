package scheduler

import (
	"time"

	"github.com/yacron2/yacron2/scheduler/history"
)

// CodePaused is the code of what a pause keeps from running.
const CodePaused = "paused"

// pausedNow returns the pause that keeps a job from firing now, if there is one. A pause
// holds on this node: what it skips here, no other node catches up. It does not end runs
// and does not keep anybody from starting the job by hand. mu is held.
func (d *Dispatcher) pausedNow(name string, now time.Time) (verdict, bool) {
	p, ok := d.cfg.History.Pause(name)
	if !ok || !p.Active(now) {
		return verdict{}, false
	}
	return verdict{outcome: DecidedSkipped, code: CodePaused, reason: PauseText(p)}, true
}

// skipPaused skips a firing that a pause keeps from running. mu is held.
func (d *Dispatcher) skipPaused(f *firing, now time.Time) bool {
	v, paused := d.pausedNow(f.entry.name, now)
	if paused {
		d.decide(f, v)
	}
	return paused
}

// PauseJob keeps a job from firing on this node, in place of an earlier pause. It returns
// when the pause is as durable as the history: ErrUnknownJob, or the error of that.
func (d *Dispatcher) PauseJob(pause history.Pause) error {
	if _, ok := d.Job(pause.Job); !ok {
		return ErrUnknownJob
	}
	if err := d.cfg.History.SetPause(pause); err != nil {
		return err
	}
	d.log.Info("job paused", "job", pause.Job, "until", pause.Until, "by", pause.By, "note", pause.Note)
	return nil
}

// ResumeJob ends the pause of a job: ErrUnknownJob, ErrNotPaused, or the error of the
// history. The pause of a job that is no longer configured can be ended as well.
func (d *Dispatcher) ResumeJob(name string) error {
	pause, ok := d.cfg.History.Pause(name)
	if _, known := d.Job(name); !known && !ok {
		return ErrUnknownJob
	}
	found, err := d.cfg.History.ClearPause(name)
	switch {
	case err != nil:
		return err
	case !found || !pause.Active(d.now()):
		return ErrNotPaused
	}
	d.log.Info("job resumed", "job", name)
	d.mu.Lock()
	d.poke() // a one-shot may have waited
	d.mu.Unlock()
	return nil
}

// PauseText says in words what keeps a job from firing.
func PauseText(p history.Pause) string {
	text := "the job is paused on this node"
	if !p.Until.IsZero() {
		text += " until " + p.Until.UTC().Format(time.RFC3339)
	}
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Note != "" {
		text += ": " + p.Note
	}
	return text
}
