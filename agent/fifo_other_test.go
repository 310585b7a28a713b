//go:build !unix

package agent

import "testing"

// makeFIFO ends the test: there are no named pipes among the files here.
func makeFIFO(t *testing.T, path string) {
	t.Helper()
	t.Skip("needs a named pipe at " + path)
}
