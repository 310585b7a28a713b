//go:build unix

package agent

import (
	"math"
	"syscall"
)

// descriptorLimit is how many file descriptors this process may have.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
