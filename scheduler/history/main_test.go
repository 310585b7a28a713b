package history

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// waitLimit is how long tests wait for what must happen.
const waitLimit = 30 * time.Second

func TestMain(m *testing.M) {
	if path := os.Getenv("YACRON2_TEST_HISTORY_WRITER"); path != "" {
		writeUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}
