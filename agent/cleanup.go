package agent

import (
	"context"
	"errors"
	"fmt"
)

// cleanup is one named step of the way down.
type cleanup struct {
	name string
	run  func(context.Context) error
}

// cleanupStack undoes, in reverse order, what was set up. The same stack serves a
// failed New, a failed Start and an orderly Stop, so that there is one way down.
type cleanupStack []cleanup

func (s *cleanupStack) push(name string, run func(context.Context) error) {
	*s = append(*s, cleanup{name, run})
}

// unwind runs every step, the newest first, and empties the stack. A failing step
// does not keep the others from running.
func (s *cleanupStack) unwind(ctx context.Context) error {
	var errs []error
	for i := len(*s) - 1; i >= 0; i-- {
		step := (*s)[i]
		if err := step.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	*s = nil
	return errors.Join(errs...)
}
