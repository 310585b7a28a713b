package agent

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/gossip"
	"github.com/yacron2/yacron2/scheduler"
)

// gossipBackend adapts a gossip manager to what the agent drives.
type gossipBackend struct{ *gossip.Manager }

var _ backend = gossipBackend{}

// SetJobSet tells the peers of a new job set.
func (b gossipBackend) SetJobSet(set jobSet) {
	b.Manager.SetJobSet(set.id, set.leaderJobs())
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
	build := func(jobSet) (backend, error) {
		return nil, fmt.Errorf("this version has no %s backend", cluster.Backend)
	}
	if cluster.Gossip != nil {
		voter := a.voting.voter
		build = func(set jobSet) (backend, error) { return a.newGossip(cluster, set, voter) }
	}
	return &blueprint{cluster: cluster, build: build}
}

func (a *Agent) newGossip(cluster *config.Cluster, set jobSet, voter *gossip.Voter) (backend, error) {
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
	g.JobSetID = set.id
	g.LeaderJobs = set.leaderJobs()
	g.Running = a.dispatcher.IsRunning
	g.NeedRunning = a.needRunning
	g.Summaries = a.summaries
	g.Voter = voter
	g.Logger = a.logs.root
	m, err := gossip.New(g)
	if err != nil {
		return nil, err
	}
	return gossipBackend{m}, nil
}

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
