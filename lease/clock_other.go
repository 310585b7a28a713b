//go:build !linux

package lease

import "time"

func newClock() clock { return since(time.Now()) }
