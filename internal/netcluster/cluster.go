package netcluster

import (
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// peerPort is where each agent listens for the others, on its own host.
const peerPort = "9443"

// Cluster is a cluster whose nodes have hosts of their own, which bear the nodes' names.
type Cluster struct {
	*testcluster.Cluster
	Net *Net
}

// NewCluster makes the network of a cluster and the configuration of its nodes, which
// know each other by name.
func NewCluster(tb testing.TB, o testcluster.Options) *Cluster {
	tb.Helper()
	if o.Names == nil {
		o.Names = Names(3)
	}
	// Before the cluster, so that it is taken down after it.
	n := New(tb, o.Names...)
	o.Places = func(name string) testcluster.Place {
		return testcluster.Place{
			Listen: "0.0.0.0:" + peerPort, Address: name + ":" + peerPort, Prefix: n.Prefix(name),
		}
	}
	return &Cluster{Cluster: testcluster.New(tb, o), Net: n}
}

// Names returns the names of that many nodes, in the order in which they lead.
func Names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "yacron-" + string(rune('a'+i))
	}
	return names
}
