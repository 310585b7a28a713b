package testcluster

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	// Patience is how long a test waits for a condition. It is no expectation: what
	// takes how long is the benchmarks' to tell.
	Patience = 30 * time.Second

	pollEvery    = 20 * time.Millisecond
	measureEvery = 2 * time.Millisecond
)

// Eventually waits for check to return nil and fails the test with its last error
// after Patience.
func Eventually(tb testing.TB, what string, check func() error) {
	tb.Helper()
	EventuallyWithin(tb, Patience, what, check)
}

// EventuallyWithin is Eventually for conditions that by their nature take longer, such
// as a job's firings over half a minute.
func EventuallyWithin(tb testing.TB, limit time.Duration, what string, check func() error) {
	tb.Helper()
	if err := Poll(limit, pollEvery, check); err != nil {
		tb.Fatalf("%s: not within %v: %v", what, limit, err)
	}
}

// Poll calls check until it returns nil; after limit it returns check's last error.
func Poll(limit, every time.Duration, check func() error) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return err
		}
	}
}

// All joins the errors of several conditions, so that a failure shows all that hold
// it up.
func All(checks ...func() error) func() error {
	return func() error {
		var errs []error
		for _, check := range checks {
			errs = append(errs, check())
		}
		return errors.Join(errs...)
	}
}

// Expect returns an error that says what differs, unless got is want.
func Expect[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s is %v, want %v", what, got, want)
}
