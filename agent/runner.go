package agent

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/run"
)

// reapingRunner starts real processes, and collects the orphans that fall to this one.
type reapingRunner struct{ reaper *run.Reaper }

// Start starts what spec says.
func (r reapingRunner) Start(spec run.Spec) scheduler.Process { return r.reaper.Start(spec) }

// newRunner returns what starts processes. As PID 1, in a container, it also reaps.
func (a *Agent) newRunner(log hclog.Logger) scheduler.Runner {
	if !run.IsReaper() {
		return scheduler.ProcessRunner{}
	}
	reaper := run.NewReaper(log.Named("reaper"))
	a.down.push("reaper", func(context.Context) error {
		reaper.Close()
		return nil
	})
	return reapingRunner{reaper}
}
