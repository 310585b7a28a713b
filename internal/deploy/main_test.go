package deploy

import (
	"os"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m, "3")) }

// root is the source tree.
const root = "../.."
