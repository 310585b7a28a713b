package agent

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/gossip"
	"github.com/yacron2/yacron2/scheduler"
)

// gossipBackend adapts a gossip manager to what the agent drives.
type gossipBackend struct {
	*gossip.Manager
	log     hclog.Logger
	cluster *config.Cluster // as it is in effect
}

var _ backend = (*gossipBackend)(nil)

// SetJobSet tells the peers of a new job set.
func (b *gossipBackend) SetJobSet(set jobSet) {
	b.Manager.SetJobSet(set.id, set.leaderJobs())
}

// Suits implements backend.
func (b *gossipBackend) Suits(next *config.Cluster) bool { return sameGossip(b.cluster, next) }

// Adopt takes over what concerns this node alone, and looks at the certificates:
// whoever renewed them may ask for that with a reload.
func (b *gossipBackend) Adopt(next *config.Cluster) {
	b.cluster = next
	if err := b.Retune(next.Gossip.Interval, next.Gossip.DriftAfter); err != nil {
		b.log.Warn("the cluster's interval stays as it was", "error", err)
	}
	if err := b.ReloadCertificates(); err != nil {
		b.log.Warn("keeping the cluster certificates in use", "error", err)
	}
}

// sameGossip reports whether a running manager may stay. The others are told what
// differs otherwise, or it is part of every session. The order of the peers means
// nothing, and a node's name does not change while the agent runs.
func sameGossip(a, b *config.Cluster) bool {
	if a.Gossip == nil || b.Gossip == nil {
		return false
	}
	return reflect.DeepEqual(essentials(a), essentials(b))
}

// essentials is a section without what a running manager takes over.
func essentials(c *config.Cluster) config.Cluster {
	out, g := *c, *c.Gossip
	out.NodeName, out.Gossip = "", &g
	g.Interval, g.DriftAfter = 0, 0
	g.Peers = slices.Sorted(slices.Values(g.Peers))
	return out
}

// leaderJobs lists the jobs whose firings need a claim.
func (s jobSet) leaderJobs() []string {
	var names []string
	for name, j := range s.jobs {
		if j.Enabled && j.ClusterPolicy == election.Leader {
			names = append(names, name)
		}
	}
	return names
}

// blueprint describes the backend that cfg asks for; nil without a cluster section.
func (a *Agent) blueprint(cfg *config.Config) *blueprint {
	cluster := cfg.Cluster
	if cluster == nil {
		return nil
	}
	if cluster.Gossip != nil {
		voter := a.voting.voter
		return &blueprint{
			cluster: cluster,
			build:   func(set jobSet) (backend, error) { return a.newGossip(cluster, set, voter) },
			check:   func(before *config.Cluster) error { return a.checkGossip(before, cluster) },
		}
	}
	return &blueprint{
		cluster: cluster,
		build:   func(set jobSet) (backend, error) { return a.newLease(cluster, set) },
		check:   func(*config.Cluster) error { return a.checkLease(cluster) },
	}
}

// gossipConfig is the section as a manager takes it, without what lives
// longer than it.
func (a *Agent) gossipConfig(cluster *config.Cluster) gossip.Config {
	g := gossip.DefaultConfig()
	g.NodeName = a.node
	g.InstanceID = a.instanceID
	g.Listen = cluster.Gossip.Listen
	g.Peers = cluster.Gossip.Peers
	g.CAFile = cluster.Gossip.CAFile
	g.CertFile = cluster.Gossip.CertFile
	g.KeyFile = cluster.Gossip.KeyFile
	g.VerifyPeerNames = cluster.Gossip.VerifyPeerNames
	g.Interval = cluster.Gossip.Interval
	g.DriftAfter = cluster.Gossip.DriftAfter
	g.ConnectTimeout = cluster.ConnectTimeout
	g.ElectLeader = cluster.ElectLeader
	g.Distribution = cluster.Distribution
	g.Running = a.dispatcher.IsRunning
	g.NeedRunning = a.needRunning
	g.Summaries = a.summaries
	g.Metrics = a.counts.sink
	g.Now = a.opts.now
	g.Logger = a.logs.root
	return g
}

func (a *Agent) newGossip(cluster *config.Cluster, set jobSet, voter *gossip.Voter) (backend, error) {
	g := a.gossipConfig(cluster)
	g.JobSetID = set.id
	g.LeaderJobs = set.leaderJobs()
	g.Voter = voter
	m, err := gossip.New(g)
	if err != nil {
		return nil, err
	}
	return &gossipBackend{Manager: m, log: a.log, cluster: cluster}, nil
}

// checkGossip returns why a manager of the section could not start now. While the one
// of the section before still has its port, that one cannot be tried.
func (a *Agent) checkGossip(before, cluster *config.Cluster) error {
	g := a.gossipConfig(cluster)
	if err := g.Validate(); err != nil {
		return err
	}
	if err := g.CheckCertificates(); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	if before.Gossip != nil && portOf(before.Gossip.Listen) == portOf(g.Listen) {
		return nil
	}
	return g.CheckListen()
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// needRunning reports whether a firing of the job may start only after the peers have
// told whether it still runs there.
func (a *Agent) needRunning(job string) bool {
	status, ok := a.dispatcher.Job(job)
	return ok && status.Job.ConcurrencyPolicy != scheduler.Allow
}

// newInstanceID returns a random instance id: 32 hex digits.
func newInstanceID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
