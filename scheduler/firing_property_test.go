package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

// scenario is a random life of one node, drawn before it is lived.
type scenario struct {
	seed  uint64 // of the coordinator's answers and the processes' durations
	steps []scenarioStep
	wild  bool // with clock steps and changed schedules
}

type scenarioStep struct {
	wait   time.Duration
	action string
	by     time.Duration // of a clock step
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{seed: rapid.Uint64().Draw(t, "seed"), wild: rapid.Bool().Draw(t, "wild")}
	actions := []string{"follow", "lead", "lead", "alone", "conflict", "reload", "no manager", "manager", "none"}
	if s.wild {
		actions = append(actions, "clock", "reschedule", "remove", "restore", "disable")
	}
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		s.steps = append(s.steps, scenarioStep{
			wait:   time.Duration(rapid.IntRange(0, 9000).Draw(t, "wait")) * time.Millisecond,
			action: rapid.SampledFrom(actions).Draw(t, "action"),
			by:     time.Duration(rapid.IntRange(-120, 120).Draw(t, "by")) * time.Second,
		})
	}
	return s
}

// chance is a source of randomness for many goroutines.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (c *chance) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

// live lives a scenario and returns what was decided about each firing of the gated
// jobs, and the grants.
func (s scenario) live(t *testing.T, h *harness) (grants map[string]int) {
	random := &chance{r: rand.New(rand.NewPCG(s.seed, 1))}
	grants = make(map[string]int)
	var mu sync.Mutex
	holder := make(map[string]bool) // firings that another instance holds
	answer := func(f election.Firing) election.Verdict {
		mu.Lock()
		defer mu.Unlock()
		key := f.Job + f.At.Format(" 15:04:05")
		switch k := random.n(10); {
		case holder[key]:
			return election.Verdict{Outcome: election.Denied, Holder: "a"}
		case grants[key] > 0:
			// A voter grants a repeated claim to the same instance again.
		case k < 2:
			holder[key] = true
			return election.Verdict{Outcome: election.Denied, Holder: "a"}
		case k < 6:
			return election.Verdict{Reason: "some votes are missing"}
		}
		grants[key]++
		v := election.Verdict{Outcome: election.Granted}
		if random.n(8) == 0 {
			v.RunningOn = "c"
		}
		return v
	}
	h.runner.behave = func(string, int) behaviour {
		return behaviour{lasts: time.Duration(random.n(5000)) * time.Millisecond}
	}
	coordinator := newFakeCoordinator(leading(time.Now()))
	coordinator.answers(answer)
	coordinator.wait = time.Duration(random.n(3000)) * time.Millisecond
	within := startsWithin(10 * time.Second)
	leader, often := policy(election.Leader), "*/2 * * * * * *"
	jobs := func() []*Job {
		return []*Job{
			testJob(t, "l", often, leader, within),
			testJob(t, "f", often, leader, within, concurrency(Forbid)),
			testJob(t, "p", often, policy(election.PreferLeader), within),
		}
	}
	h.begin(true, coordinator, jobs()...)
	for _, step := range s.steps {
		wait(step.wait)
		switch step.action {
		case "follow":
			coordinator.set(following())
		case "lead":
			coordinator.set(leading(time.Now()))
		case "alone":
			coordinator.set(alone(time.Now().Add(-time.Minute)))
		case "conflict":
			coordinator.set(conflicted())
		case "no manager":
			h.SetCoordinator(nil)
		case "manager":
			fresh := newFakeCoordinator(coordinator.View())
			fresh.answers(answer)
			coordinator = fresh
			h.SetCoordinator(fresh)
		case "reload", "restore":
			h.Apply(Plan{Elect: true, Jobs: jobs()})
		case "reschedule":
			moved := jobs()
			moved[0] = testJob(t, "l", "* * * * * * *", leader, within)
			h.Apply(Plan{Elect: true, Jobs: moved})
		case "remove":
			h.Apply(Plan{Elect: true, Jobs: jobs()[1:]})
		case "disable":
			off := jobs()
			off[0].Enabled = false
			h.Apply(Plan{Elect: true, Jobs: off})
		case "clock":
			h.offset.Add(int64(step.by))
		}
	}
	synctest.Wait()
	return grants
}

// electionCode reports whether the code says that a firing was not this node's, so that
// it may become so.
func electionCode(code string) bool {
	return !slices.Contains([]string{CodeRunning, CodeRunningElsewhere, CodeRemoved, CodeAlreadyClaimed, CodeReplaced}, code)
}

// check looks at what became of the firings and returns what is wrong.
func (s scenario) check(h *harness, began, ended time.Time) error {
	started := map[string]int{}
	for _, x := range h.runner.all() {
		if x.job != "p" || !s.wild {
			if started[x.job+" "+x.firing]++; started[x.job+" "+x.firing] > 1 {
				return fmt.Errorf("%s of %s was started twice", x.firing, x.job)
			}
		}
	}
	first, over := map[string]Decided{}, map[string][]string{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.Kind != FiringDecided || e.Decision.Code == CodeAlreadyClaimed {
			continue
		}
		key := e.Job.Name + " " + e.Firing.Format(time.RFC3339)
		if _, ok := first[key]; !ok {
			first[key] = *e.Decision
		}
		if v := e.Decision; v.Outcome != DecidedPending && (v.Outcome != DecidedSkipped || !electionCode(v.Code)) {
			over[key] = append(over[key], v.Outcome+" "+v.Code)
		}
	}
	for key, ends := range over {
		if key[0] == 'p' {
			continue
		}
		// A clock that is set back brings firings again that did not run, so that they
		// may be missed again, or run after all.
		if len(ends) > 1 && !s.wild {
			return fmt.Errorf("%s ended %d times: %v", key, len(ends), ends)
		}
		if slices.Contains(ends, "run granted") != (started[key] == 1) {
			return fmt.Errorf("%s ended with %v and was started %d times", key, ends, started[key])
		}
	}
	if s.wild {
		return nil
	}
	for at := began.Truncate(2 * time.Second).Add(2 * time.Second); !at.After(ended); at = at.Add(2 * time.Second) {
		for _, job := range []string{"l", "f", "p"} {
			key := job + " " + at.Format(time.RFC3339)
			v, ok := first[key]
			if !ok {
				return fmt.Errorf("nothing was decided about %s", key)
			}
			owned := v.Outcome != DecidedSkipped || !electionCode(v.Code)
			if owned && len(over[key]) != 1 {
				return fmt.Errorf("%s was this node's (%+v) and ended with %v", key, v, over[key])
			}
		}
	}
	return nil
}

// Whatever the cluster answers and the configuration and the clock do: no firing runs
// twice, and each one that is this node's when it is due ends in exactly one way.
func TestEveryFiringEndsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		var problem error
		// What is drawn is drawn outside of the bubble, and what is found fails there.
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.log.SetLevel(0)
			began := time.Now()
			s.live(t, h)
			ended := time.Now()
			wait(45 * time.Second) // every deadline passes
			problem = s.check(h, began, ended)
			h.stop()
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}
