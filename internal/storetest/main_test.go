package storetest

import (
	"fmt"
	"os"
	"testing"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// kube is the API server of the tests that do not harm it.
var kube realstore.SharedAPIServer

func TestMain(m *testing.M) {
	code := testcluster.Main(m, "6")
	if err := kube.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
