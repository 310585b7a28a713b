package agent

import (
	"context"

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
