//go:build unix

package agent

import (
	"syscall"
	"testing"
)

// makeFIFO makes a named pipe.
func makeFIFO(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
