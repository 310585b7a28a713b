package agent

import (
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/run"
)

// processRunner starts real processes.
type processRunner struct{}

var _ scheduler.Runner = processRunner{}

// Start starts what spec says.
func (processRunner) Start(spec run.Spec) scheduler.Process { return run.Start(spec) }
