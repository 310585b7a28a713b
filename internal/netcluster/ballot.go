package netcluster

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/yacron2/yacron2/gossip/votes"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// Grant is one vote.
type Grant struct {
	Voter    string // node name
	Job      string
	Firing   time.Time
	Instance string // to which the firing was granted
}

// grantsNow reads the votes of a node from a copy of its file.
func grantsNow(n *testcluster.Node) (granted []Grant, err error) {
	from, err := os.Open(filepath.Join(n.DataDir, "votes.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "yacron2-votes-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(to.Name())
	if _, err := io.Copy(to, from); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	store, err := votes.Open(votes.Config{Path: to.Name(), NodeName: n.NodeName})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, _, _, err := store.Load()
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		granted = append(granted, Grant{Voter: n.NodeName, Job: v.Firing.Job, Firing: v.Firing.At, Instance: v.InstanceID})
	}
	return granted, nil
}
