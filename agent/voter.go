package agent

import (
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/gossip"
	"github.com/yacron2/yacron2/gossip/votes"
)

var _ gossip.VoteStore = (*votes.Store)(nil)

// voting is the one voter of this process, and its votes in the data directory if there
// is one. Both outlive the gossip managers that use them, so that a changed cluster
// section does not make the process forget what it voted. Nothing is opened before a
// configuration asks for an election by gossip, and nothing is opened twice. It is
// guarded by Agent.change.
type voting struct {
	voter *gossip.Voter // nil: nobody has asked
	store *votes.Store  // nil: in memory
}

// prepare makes the voter if cfg needs one. An error leaves it out: a node that cannot
// know what it voted must not vote.
func (v *voting) prepare(log hclog.Logger, cfg *config.Config, node, dataDir string) error {
	if v.voter != nil || cfg.Cluster == nil || cfg.Cluster.Gossip == nil || !cfg.Cluster.ElectLeader {
		return nil
	}
	if dataDir == "" {
		voter, err := gossip.NewVoter(nil)
		v.voter = voter
		return err
	}
	path := filepath.Join(dataDir, "votes.db")
	store, err := votes.Open(votes.Config{Path: path, NodeName: node})
	if err != nil {
		return err
	}
	voter, err := gossip.NewVoter(store)
	if err != nil {
		_ = store.Close() // it cannot be read: err says so
		return err
	}
	log.Info("votes outlive this process", "file", path)
	v.voter, v.store = voter, store
	return nil
}

// close gives the votes back. No manager may use the voter any more.
func (v *voting) close() error {
	if v.store == nil {
		return nil
	}
	return v.store.Close()
}
