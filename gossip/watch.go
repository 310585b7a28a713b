package gossip

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// watch logs what changes from view to view. It may skip views that lasted only for a
// moment.
func (m *Manager) watch(ctx context.Context) {
	w := &watcher{log: m.log}
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.dirty:
			w.see(m.View())
		}
	}
}

// watcher remembers what was logged last.
type watcher struct {
	log        hclog.Logger
	quorate    bool
	leading    bool
	leader     string
	conflict   string
	statuses   []election.Status
	distrust   []string // per peer: why it was untrusted
	skewed     []bool   // per peer: its clock was warned about
	degenerate bool
	seen       bool
}

// see logs the differences to the view before.
func (w *watcher) see(v *election.View) {
	w.seePeers(v)
	w.seeConflicts(v)
	if v.ElectLeader() {
		w.seeElection(v)
	}
	w.seen = true
}

func (w *watcher) seeElection(v *election.View) {
	if q := v.Quorate(); q != w.quorate {
		w.quorate = q
		if q {
			w.log.Info("quorum reached", "agreeing", 1+len(v.MutualAgreeing()), "quorum", v.Quorum(), "size", v.Size())
		} else {
			w.log.Warn("quorum lost: Leader jobs stand down", "agreeing", 1+len(v.MutualAgreeing()), "quorum", v.Quorum(), "size", v.Size())
		}
	}
	if v.Distribution() != election.SingleLeader {
		return
	}
	leader, leading := v.Leader(), v.IsLeader()
	if leading != w.leading {
		w.leading = leading
		if leading {
			w.log.Info("this node leads now")
		} else {
			w.log.Warn("this node no longer leads", "leader", leader)
		}
	} else if leader != w.leader && leader != "" && !leading {
		w.log.Info("another node leads", "leader", leader)
	}
	w.leader = leader
}

func (w *watcher) seeConflicts(v *election.View) {
	text := v.ConflictText()
	switch {
	case text == w.conflict:
	case text != "":
		w.log.Error("conflict: Leader jobs stand down", "conflict", text)
	default:
		w.log.Info("the conflict is over")
	}
	w.conflict = text
}

func (w *watcher) seePeers(v *election.View) {
	peers := v.Peers()
	if w.statuses == nil {
		w.statuses, w.distrust = make([]election.Status, len(peers)), make([]string, len(peers))
		w.skewed = make([]bool, len(peers))
		for i := range w.statuses {
			w.statuses[i] = election.StatusUnknown
		}
	}
	listed := false
	for i := range peers {
		p := &peers[i]
		listed = listed || p.Status == election.StatusSelf
		w.seeClock(i, p)
		was := w.statuses[i]
		// A certificate may be replaced by one that is wrong in another way.
		if p.Status == was && (p.Status != election.StatusUntrusted || p.LastError == w.distrust[i]) {
			continue
		}
		w.statuses[i], w.distrust[i] = p.Status, p.LastError
		args := []any{"peer", p.Host, "node", p.NodeName, "status", string(p.Status), "before", string(was)}
		if p.LastError != "" {
			args = append(args, "error", p.LastError)
		}
		switch p.Status {
		case election.StatusUntrusted, election.StatusUnreachable, election.StatusDrifted, election.StatusConflict:
			w.log.Warn("peer status changed", args...)
		case election.StatusSelf:
			w.log.Info("a configured peer is this node itself; it does not count", args...)
		default:
			w.log.Info("peer status changed", args...)
		}
	}
	degenerate := listed && v.ElectLeader() && v.Size() == 2
	if degenerate && !w.degenerate {
		w.log.Warn("the peer list names this node itself: the cluster has two nodes, and if either fails no Leader job runs anywhere; remove the entry and add a node")
	}
	w.degenerate = degenerate
}

// seeClock logs when a peer's clock gets too far from this node's, and when it is back.
// While it can't be measured, nothing is known, and nothing said.
func (w *watcher) seeClock(i int, p *election.Peer) {
	if p.Skew == nil || p.Skew.Excessive == w.skewed[i] {
		return
	}
	w.skewed[i] = p.Skew.Excessive
	args := []any{"peer", p.Host, "node", p.NodeName, "ahead", p.Skew.Ahead.Round(time.Microsecond), "within", p.Skew.Error.Round(time.Microsecond)}
	if p.Skew.Excessive {
		w.log.Warn(fmt.Sprintf("the peer's clock and this node's are too far apart: claims need clocks within %v of each other", election.ClockSkew), args...)
	} else {
		w.log.Info("the peer's clock is close to this node's again", args...)
	}
}

// warnAboutSize warns once about a size that gains nothing.
func (m *Manager) warnAboutSize() {
	if n := len(m.cfg.Peers) + 1; m.cfg.ElectLeader && n > 2 && n%2 == 0 {
		m.log.Warn("an even number of nodes tolerates no more failures than one node less", "size", n)
	}
}

// memberLogger shows what memberlist says at trace level: what matters is reported by
// this package in its own words, and memberlist calls much an error that is none here.
func memberLogger(l hclog.Logger) *log.Logger {
	return log.New(memberWriter{l.Named("memberlist")}, "", 0)
}

type memberWriter struct{ log hclog.Logger }

func (w memberWriter) Write(b []byte) (int, error) {
	if w.log.IsTrace() {
		w.log.Trace(clean(strings.TrimSpace(string(b))))
	}
	return len(b), nil
}
