package netcluster

import (
	"fmt"
	"slices"
	"strings"
)

// direction is one direction of the way between two hosts.
type direction struct{ from, to string }

// fault is what a packet on its way has to expect.
type fault struct {
	cut  bool
	loss int // percent of the packets that get lost
}

// CutOneWay lets no packet from one host arrive at another.
func (n *Net) CutOneWay(from, to string) {
	n.tb.Helper()
	n.change(func(set func(from, to string, f fault)) { set(from, to, fault{cut: true}) })
}

// Cut lets no packet between two hosts arrive.
func (n *Net) Cut(a, b string) {
	n.tb.Helper()
	n.change(func(set func(from, to string, f fault)) {
		set(a, b, fault{cut: true})
		set(b, a, fault{cut: true})
	})
}

// Isolate cuts some hosts off from all others. They still reach each other.
func (n *Net) Isolate(names ...string) {
	n.tb.Helper()
	n.change(func(set func(from, to string, f fault)) {
		for _, a := range n.hosts {
			for _, b := range n.hosts {
				if slices.Contains(names, a.Name) != slices.Contains(names, b.Name) {
					set(a.Name, b.Name, fault{cut: true})
				}
			}
		}
	})
}

// Lose lets a percentage of all packets between a host and the others get lost.
func (n *Net) Lose(name string, percent int) {
	n.tb.Helper()
	n.change(func(set func(from, to string, f fault)) {
		for _, other := range n.hosts {
			if other.Name != name {
				set(name, other.Name, fault{loss: percent})
				set(other.Name, name, fault{loss: percent})
			}
		}
	})
}

// Mend ends the faults between two hosts.
func (n *Net) Mend(a, b string) {
	n.tb.Helper()
	n.change(func(set func(from, to string, f fault)) {
		set(a, b, fault{})
		set(b, a, fault{})
	})
}

// Heal ends all faults but thin cables.
func (n *Net) Heal() {
	n.tb.Helper()
	n.change(func(set func(from, to string, f fault)) {
		for d := range n.links {
			set(d.from, d.to, fault{})
		}
	})
}

// change changes faults and puts them into effect on the hosts concerned, one after the
// other.
func (n *Net) change(do func(set func(from, to string, f fault))) {
	n.tb.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	concerned := map[string]bool{}
	do(func(from, to string, f fault) {
		d := direction{from, to}
		if n.links[d] == f {
			return
		}
		concerned[to] = true
		if f == (fault{}) {
			delete(n.links, d)
		} else {
			n.links[d] = f
		}
	})
	for _, h := range n.hosts {
		if !concerned[h.Name] {
			continue
		}
		if err := run(n.filter(h), "ip", "netns", "exec", h.space, "nft", "-f", "-"); err != nil {
			n.tb.Fatal(err)
		}
	}
}

// filter returns the packet filter of a host: what gets lost does so right before it
// arrives, so that the sender notices nothing. n.mu is held.
func (n *Net) filter(h *Host) string {
	var b strings.Builder
	b.WriteString("table ip faults {}\ndelete table ip faults\n") // as one change with what follows
	b.WriteString("table ip faults {\nchain arriving {\ntype filter hook input priority 0; policy accept;\n")
	for _, other := range n.hosts {
		switch f := n.links[direction{other.Name, h.Name}]; {
		case f.cut:
			fmt.Fprintf(&b, "ip saddr %s drop\n", other.Addr)
		case f.loss > 0:
			fmt.Fprintf(&b, "ip saddr %s numgen random mod 100 < %d drop\n", other.Addr, f.loss)
		}
	}
	b.WriteString("}\n}\n")
	return b.String()
}

// Thin lets at most that many kilobits a second leave a host. It reports whether the
// kernel can do that.
func (n *Net) Thin(name string, kilobits int) bool {
	n.tb.Helper()
	err := run("", "tc", "-netns", n.Host(name).space, "qdisc", "replace", "dev", cable, "root",
		"tbf", "rate", fmt.Sprintf("%dkbit", kilobits), "burst", "4kb", "latency", "400ms")
	if err != nil {
		n.tb.Logf("no thin cable: %v", err)
	}
	return err == nil
}

// Widen ends what Thin began.
func (n *Net) Widen(name string) {
	n.tb.Helper()
	if err := run("", "tc", "-netns", n.Host(name).space, "qdisc", "delete", "dev", cable, "root"); err != nil {
		n.tb.Fatal(err)
	}
}
