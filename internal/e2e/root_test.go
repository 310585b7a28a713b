package e2e

import (
	"os"
	"testing"
)

// asRoot skips a test of what only root can do.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root")
	}
}
