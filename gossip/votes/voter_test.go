package votes_test

import (
	"path/filepath"
	"testing"

	"github.com/yacron2/yacron2/gossip"
	"github.com/yacron2/yacron2/gossip/votes"
)

var _ gossip.VoteStore = (*votes.Store)(nil)

// A voter takes a store, and says why it can't.
func TestVoter(t *testing.T) {
	store, err := votes.Open(votes.Config{Path: filepath.Join(t.TempDir(), "votes.db"), NodeName: "yacron-a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gossip.NewVoter(store); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := gossip.NewVoter(store); err == nil {
		t.Error("a voter was made with a closed store")
	}
}
