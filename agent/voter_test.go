package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/gossip/votes"
)

func TestVotingIsPreparedOnce(t *testing.T) {
	gossiping := func(elect bool) *config.Config {
		return &config.Config{Cluster: &config.Cluster{Gossip: &config.Gossip{}, ElectLeader: elect}}
	}
	dir := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, "votes.db")
	log := hclog.NewNullLogger()
	var v voting
	for what, cfg := range map[string]*config.Config{
		"no cluster": {}, "another backend": {Cluster: &config.Cluster{ElectLeader: true}}, "no election": gossiping(false),
	} {
		if err := v.prepare(log, cfg, "node-a", dir); err != nil || v.voter != nil {
			t.Errorf("%s: voter %v, error %v; want none", what, v.voter, err)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there before it is needed: %v", err)
	}

	if err := v.prepare(log, gossiping(true), "node-a", dir); err != nil || v.voter == nil || v.store == nil {
		t.Fatalf("voter %v, store %v, error %v", v.voter, v.store, err)
	}
	before := v
	// Another configuration, even one without the directory, changes nothing.
	if err := v.prepare(log, gossiping(true), "node-a", ""); err != nil || v != before {
		t.Errorf("prepared again: %v, error %v", v, err)
	}
	if err := v.close(); err != nil {
		t.Fatal(err)
	}

	var other voting
	if err := other.prepare(log, gossiping(true), "node-b", dir); !errors.Is(err, votes.ErrForeign) || other.voter != nil {
		t.Errorf("voter %v, error %v; want none, %v", other.voter, err, votes.ErrForeign)
	}
	if err := other.close(); err != nil {
		t.Error(err)
	}
	var memory voting
	if err := memory.prepare(log, gossiping(true), "node-a", ""); err != nil || memory.voter == nil || memory.store != nil {
		t.Errorf("without a directory: voter %v, store %v, error %v", memory.voter, memory.store, err)
	}
}
