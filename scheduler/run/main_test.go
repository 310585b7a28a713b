package run

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// waitLimit is how long tests wait for what must happen.
const waitLimit = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
