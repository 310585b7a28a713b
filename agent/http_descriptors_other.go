//go:build !unix

package agent

import "math"

// descriptorLimit is how many file descriptors this process may have.
func descriptorLimit() int { return math.MaxInt32 }
