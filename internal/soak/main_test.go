//go:build linux

package soak

import (
	"os"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m, "1")) }
