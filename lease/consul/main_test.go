package consul

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/yacron2/yacron2/internal/testcluster"
)

func TestMain(m *testing.M) {
	// Sessions take their time to end, and that is what most tests wait for.
	code := testcluster.Main(m, "8")
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
