package agent

import (
	"context"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/scheduler"
)

// watchClock returns what tells that the wall clock was set, nil where nothing does.
func (a *Agent) watchClock(log hclog.Logger) <-chan struct{} {
	watch, err := scheduler.WatchClock()
	if err != nil {
		log.Debug("changes of the wall clock are noticed by looking at it every few seconds", "reason", err)
		return nil
	}
	a.down.push("clock watch", func(context.Context) error {
		watch.Close()
		return nil
	})
	return watch.C()
}

// releaseMemory gives back to the system what reading a configuration took: much more
// than it leaves behind, and an idle agent would not need it again for hours.
func releaseMemory() { debug.FreeOSMemory() }
