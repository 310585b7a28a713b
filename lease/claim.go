package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Codes of claims that are pending or denied on a lease backend, besides those of
// voters.
const (
	CodeNotHolder = "not-holder" // this process does not hold the lease
	CodeNoStore   = "no-store"   // the store did not settle it
	CodeNoToken   = "no-token"   // the store's indexes give no fencing token
)

// Claim asks the store for firings, one verdict each in their order. It asks once; what
// stays Pending may be asked for again.
func (m *Manager) Claim(ctx context.Context, firings []election.Firing) []election.Verdict {
	c := claim{Manager: m, firings: firings, guarded: make([]bool, len(firings)), verdicts: make([]election.Verdict, len(firings))}
	for i, f := range firings {
		c.guarded[i] = m.cfg.NeedRunning(f.Job)
		if f.Reboot() {
			c.reboots = append(c.reboots, i)
		} else {
			c.scheduled = append(c.scheduled, i)
		}
	}
	c.ask(ctx, c.scheduled, c.askScheduled)
	c.ask(ctx, c.reboots, c.askReboots)
	return c.verdicts
}

// claim is one call of Claim.
type claim struct {
	*Manager
	firings            []election.Firing
	guarded            []bool // of the firings: must not overlap
	verdicts           []election.Verdict
	scheduled, reboots []int // indexes of firings
}

type ask func(ctx context.Context, hold Hold, which []int, mark *Mark) ([]election.Verdict, []Mark, error)

// ask asks for some of the firings.
func (c *claim) ask(ctx context.Context, which []int, do ask) {
	if len(which) == 0 {
		return
	}
	// Firings that are marked go one request after the other, since a mark replaces the
	// one before.
	guarded := slices.ContainsFunc(which, func(i int) bool { return c.guarded[i] })
	var runs []string
	if guarded {
		c.marking.Lock()
		defer c.marking.Unlock()
		runs = c.cfg.Guarded()
	}

	c.mu.Lock()
	now := c.clock()
	until, holds := c.leadsUntil()
	if !holds || now >= until || c.phase != running {
		c.mu.Unlock()
		c.pend(which, CodeNotHolder, "this node does not hold the lease")
		return
	}
	hold := *c.hold
	var mark *Mark
	if guarded {
		for _, i := range which {
			if c.guarded[i] {
				c.granted[c.firings[i].Job] = now
			}
		}
		next := c.nextMark(runs, now)
		mark = &next
	}
	c.mu.Unlock()
	if hold.Token == 0 {
		c.pend(which, CodeNoToken, "the store gives no fencing token that grows, so that nothing can be claimed")
		return
	}

	var verdicts []election.Verdict
	var marks []Mark
	err := c.call(ctx, "claim", c.cfg.Timing.Call, func(ctx context.Context) (err error) {
		verdicts, marks, err = do(ctx, hold, which, mark)
		return err
	})
	c.settle(which, hold, verdicts, marks, mark, err)
}

func (c *claim) askScheduled(ctx context.Context, hold Hold, which []int, mark *Mark) ([]election.Verdict, []Mark, error) {
	firings := make([]election.Firing, len(which))
	for n, i := range which {
		firings[n] = c.firings[i]
	}
	return c.store.Claim(ctx, hold, firings, mark)
}

func (c *claim) askReboots(ctx context.Context, hold Hold, which []int, mark *Mark) ([]election.Verdict, []Mark, error) {
	c.mu.Lock()
	jobSetID := c.jobSetID
	jobs := make([]string, len(which))
	for n, i := range which {
		jobs[n] = c.firings[i].Job
		c.claimed[jobs[n]] = true
	}
	c.mu.Unlock()
	verdicts, marks, err := c.store.ClaimReboot(ctx, hold, jobSetID, jobs, mark)
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, v := range verdicts {
		if v.Outcome != election.Pending {
			delete(c.claimed, jobs[n])
		}
		if v.Outcome == election.Granted {
			c.snapshot.Ran = c.snapshot.Ran.Add(jobSetID, jobs[n], c.cfg.Identity.InstanceID)
		}
	}
	return verdicts, marks, err
}

// pend makes the verdicts Pending.
func (c *claim) pend(which []int, code, reason string) {
	for _, i := range which {
		c.verdicts[i] = election.Verdict{Outcome: election.Pending, Code: code, Reason: reason}
	}
}

// settle takes over what the store said.
func (c *claim) settle(which []int, hold Hold, verdicts []election.Verdict, marks []Mark, mark *Mark, err error) {
	c.mu.Lock()
	now := c.clock()
	if marks != nil {
		c.sawMarks(marks, now)
	}
	granted := false
	for n, i := range which {
		v := election.Verdict{Outcome: election.Pending}
		if n < len(verdicts) {
			v = verdicts[n]
		}
		switch {
		case v.Outcome == election.Granted:
			granted = true
			v.Token = hold.Token
			if c.guarded[i] {
				v.RunningOn = c.runningOn(c.firings[i].Job, now)
			}
		case v.Outcome == election.Pending && v.Code == "" && errors.Is(err, ErrLost):
			v.Code, v.Reason = CodeNotHolder, "the lease was lost before the claim"
		case v.Outcome == election.Pending && v.Code == "":
			v.Code, v.Reason = CodeNoStore, "the lease store did not settle the claim"
			if err != nil {
				v.Reason += ": " + err.Error()
			}
		}
		if c.guarded[i] && v.Outcome == election.Denied {
			delete(c.granted, c.firings[i].Job)
		}
		c.verdicts[i] = v
	}
	if mark != nil && (granted || err != nil) { // after an error it may be there
		c.wrote(*mark, now)
	}
	c.mu.Unlock()
	switch {
	case errors.Is(err, ErrLost):
		c.lose(hold.Token, err)
		c.wake()
	case err != nil:
		c.log.Warn("a claim is not settled", "firings", len(which), "error", err)
	}
}

// Witness tells until when the process with the hold is known to have been there, by the
// wall clock; zero if it is not known of at all. One that gave the hold up sees to what it
// was granted, and counts as there now. Nobody votes under a lease.
func (m *Manager) Witness(_ election.Firing, hold string) (voted, heard time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case hold == "":
	case hold == m.snapshot.Record.HoldID:
		heard = m.lastRead
	case hold == m.formerHold && m.formerGave:
		heard = m.cfg.Now()
	case hold == m.formerHold:
		heard = m.formerTo
	}
	return time.Time{}, heard
}

// Probe tells what a claim of scheduled firings would come to, without claiming: Denied
// for those that a process was given.
func (m *Manager) Probe(ctx context.Context, firings []election.Firing) []election.Verdict {
	var verdicts []election.Verdict
	err := m.call(ctx, "probe", m.cfg.Timing.Call, func(ctx context.Context) (err error) {
		verdicts, err = m.store.Claimed(ctx, firings)
		return err
	})
	if err != nil {
		verdicts = make([]election.Verdict, len(firings))
		for i := range verdicts {
			verdicts[i] = election.Verdict{Outcome: election.Pending, Code: CodeNoStore, Reason: err.Error()}
		}
	}
	return verdicts
}
