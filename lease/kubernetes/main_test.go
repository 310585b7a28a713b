package kubernetes

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// kube is the API server of all tests that do not harm it.
var kube realstore.SharedAPIServer

func TestMain(m *testing.M) {
	code := testcluster.Main(m, "4")
	if err := kube.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing the API server:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
