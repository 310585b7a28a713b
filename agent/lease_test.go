package agent

import (
	"testing"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/lease/kubernetes"
)

// What a configuration lets pass, the backend has room for.
func TestRoomOfALease(t *testing.T) {
	if config.MaxLeaseJobs != kubernetes.MaxJobs {
		t.Errorf("a configuration may have %d Leader jobs, a Lease has room for %d", config.MaxLeaseJobs, kubernetes.MaxJobs)
	}
}
