//go:build !linux

package scheduler

import "errors"

// WatchClock starts to watch the wall clock. It fails where the system does not tell.
func WatchClock() (*ClockWatch, error) { return nil, errors.ErrUnsupported }
