package scheduler

import (
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

// The outcomes of a decided firing.
const (
	DecidedRun       = "run"       // it was started, or handed to a launcher
	DecidedSkipped   = "skipped"   // not here, or nothing was started
	DecidedPending   = "pending"   // its claim is not settled
	DecidedDenied    = "denied"    // another process holds it
	DecidedMissed    = "missed"    // it did not run, and is recorded as missed
	DecidedDeferred  = "deferred"  // a retry was put off
	DecidedAbandoned = "abandoned" // a retry was given up
	DecidedRetired   = "retired"   // a pending @reboot one-shot will not run here
)

// The codes of the dispatcher's own verdicts, beside those of package election.
const (
	CodeDue              = "due"               // due, and nothing to ask
	CodeGranted          = "granted"           // a claim was granted
	CodeDenied           = "denied"            // another instance holds the firing
	CodeUnsettled        = "unsettled"         // no verdict within the starting deadline
	CodeLate             = "late"              // past the starting deadline
	CodeUnclaimed        = "unclaimed"         // another node's to run, and nobody claimed it
	CodeUntold           = "untold"            // its holder ended without a word on whether it ran
	CodeUnknown          = "unknown"           // not here, and nobody could be asked whether elsewhere
	CodeSuperseded       = "superseded"        // a newer firing of the job was due as well
	CodeRunning          = "running"           // an instance runs, and the job forbids another
	CodeRunningElsewhere = "running-elsewhere" // likewise, on another node
	CodeReplaced         = "replaced"          // a newer launch took its place before it started
	CodeCancelled        = "cancelled"         // cancelled before it started
	CodeAlreadyClaimed   = "already-claimed"   // the clock was set back over a firing that was claimed
	CodeRemoved          = "removed"           // the job is gone or disabled
	CodeManual           = "manual"            // a manual start counted as the boot run
)

// Decided is what became of one firing, or of several in a row with the same verdict.
type Decided struct {
	Firing  time.Time // scheduled instant (the newest of a row); zero for @reboot
	First   time.Time // the oldest of a row
	Count   int       // how many firings the row has
	At      time.Time // when it was decided
	Trigger Trigger
	Outcome string // one of the Decided constants
	Code    string // short and stable
	Reason  string // in words
	Owner   string // node that runs it, as far as known
}

// decisionsKept bounds the rows kept per job.
const decisionsKept = 16

// decisionRing keeps the newest verdicts on a job's firings. Equal ones in a row take
// one place.
type decisionRing struct{ rows []Decided }

func (r *decisionRing) add(v Decided) {
	v.First, v.Count = v.Firing, 1
	if n := len(r.rows); n > 0 {
		last := &r.rows[n-1]
		switch {
		case last.Outcome == DecidedPending && last.Trigger == v.Trigger && last.Firing.Equal(v.Firing):
			*last = v
			return
		case last.Outcome == v.Outcome && last.Code == v.Code && last.Reason == v.Reason &&
			last.Owner == v.Owner && last.Trigger == v.Trigger && v.Outcome != DecidedPending &&
			!v.Firing.Before(last.Firing):
			last.Firing, last.At = v.Firing, v.At
			last.Count++
			return
		}
		if n == decisionsKept {
			copy(r.rows, r.rows[1:])
			r.rows = r.rows[:n-1]
		}
	}
	r.rows = append(r.rows, v)
}

// newest returns the newest verdict, or nil.
func (r *decisionRing) newest() *Decided {
	if len(r.rows) == 0 {
		return nil
	}
	v := r.rows[len(r.rows)-1]
	return &v
}

// firing is one firing of one job on its way from due to run.
type firing struct {
	entry   *entry
	at      time.Time // UTC; zero for @reboot
	trigger Trigger
	reason  string // of the newest pending verdict
	code    string
	claimed election.Verdict // the newest one
	parked  *parkedFiring    // what it was while it was another node's; nil: it never was
}

// verdict is what the dispatcher makes of a firing.
type verdict struct {
	outcome string
	code    string
	reason  string
	owner   string
}

// of turns a decision of the election into a verdict.
func of(outcome string, v election.Decision) verdict {
	return verdict{outcome: outcome, code: v.Code, reason: v.Reason, owner: v.Owner}
}

// decide records a verdict on a firing. mu is held.
func (d *Dispatcher) decide(f *firing, v verdict) {
	row := Decided{
		Firing: f.at, First: f.at, Count: 1, At: d.now(), Trigger: f.trigger,
		Outcome: v.outcome, Code: v.code, Reason: v.reason, Owner: v.owner,
	}
	f.entry.decided.add(row)
	if v.outcome == DecidedMissed {
		d.recordMissed(f, row)
	}
	if d.cfg.Events != nil {
		told := row
		d.records.event(Event{
			Kind: FiringDecided, At: row.At, Job: f.entry.subject, Trigger: f.trigger, Firing: f.at, Decision: &told,
		})
	}
}

// recordMissed writes down that a firing did not run. mu is held.
func (d *Dispatcher) recordMissed(f *firing, row Decided) {
	m := &history.Missed{
		Job: f.entry.name, Firing: f.at, At: row.At, Code: row.Code, Reason: row.Reason,
	}
	f.entry.missed = m
	d.log.Warn("firing missed", "job", m.Job, "firing", m.Firing.Format(time.RFC3339), "reason", m.Reason)
	d.records.missed(Event{Kind: FiringMissed, At: row.At, Job: f.entry.subject, Trigger: f.trigger, Firing: f.at, Missed: m})
}
