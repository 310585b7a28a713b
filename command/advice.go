package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// advice says what is wrong with a cluster, as one node sees it, and what somebody should
// do about each: this node's own troubles first, then what stands Leader jobs down, then
// the peers one by one. It is empty if all is well.
func advice(c *api.Cluster) []string {
	if !c.Enabled {
		return nil
	}
	var list []string
	for _, text := range c.Troubles {
		list = append(list, "On this node: "+text+".")
	}
	list = append(list, adviceOnNames(c)...)
	for i := range c.Peers {
		list = append(list, adviceOnTerms(c, &c.Peers[i])...)
	}
	list = append(list, adviceOnJobs(c)...)
	for i := range c.Peers {
		if text := adviceOnPeer(c, &c.Peers[i]); text != "" {
			list = append(list, text)
		}
	}
	switch {
	case c.Lease != nil && !c.Quorate:
		list = append(list, "The store does not answer: look at it, at the way to it, and at this agent's log. Leader jobs stand down here until it does.")
	case c.Lease == nil && c.ElectLeader && !c.Quorate:
		list = append(list, fmt.Sprintf("Leader jobs stand down on this node until it agrees with %s. PreferLeader and EveryNode jobs go on.",
			count(max(c.Quorum-1, 1), "other node")))
	}
	return list
}

// advise prints what advice has to say, under a heading.
func (m *Meta) advise(list []string) {
	if len(list) == 0 {
		return
	}
	m.printf("\nWhat is wrong, and what to do:\n\n")
	for _, text := range list {
		m.printf("  - %s\n", plain(text))
	}
}

// peerName is how a peer is called in a sentence.
func peerName(p *api.Peer) string {
	if p.NodeName == "" {
		return p.Host
	}
	return string(p.NodeName) + " (" + p.Host + ")"
}

// adviceOnNames says which processes bear one name.
func adviceOnNames(c *api.Cluster) []string {
	var list []string
	for _, name := range c.ConflictNames {
		var where []string
		if c.NodeName == name {
			where = append(where, "this node")
		}
		for i := range c.Peers {
			if p := &c.Peers[i]; string(p.NodeName) == name && p.Status != api.PeerSelf {
				where = append(where, p.Host)
			}
		}
		text := "More than one process calls itself " + name
		if len(where) > 1 {
			text += ": " + strings.Join(where, ", ")
		}
		list = append(list, text+". Give each node a cluster.nodeName of its own; no Leader job runs until then.")
	}
	return list
}

// adviceOnTerms says by which rules a peer coordinates that are not this node's. Only what
// differs among nodes that agree on the jobs stands Leader jobs down.
func adviceOnTerms(c *api.Cluster, p *api.Peer) []string {
	if p.Status != api.PeerAgreed {
		return nil
	}
	var differs []string
	if p.ClusterSize != 0 && p.ClusterSize != c.ClusterSize {
		differs = append(differs, fmt.Sprintf("counts %s, and this node %d: every node must list all others, and only them, in cluster.peers",
			count(p.ClusterSize, "node"), c.ClusterSize))
	}
	if p.Distribution != "" && p.Distribution != c.Distribution {
		differs = append(differs, fmt.Sprintf("has distribution: %s, and this node %s: it must be the same on all nodes", p.Distribution, c.Distribution))
	}
	if p.ElectLeader != nil && *p.ElectLeader != c.ElectLeader {
		differs = append(differs, fmt.Sprintf("has electLeader: %v, and this node %v: it must be the same on all nodes", *p.ElectLeader, c.ElectLeader))
	}
	list := make([]string, len(differs))
	for i, text := range differs {
		list[i] = peerName(p) + " " + text + ". No Leader job runs until then."
	}
	return list
}

// adviceOnJobs says who has other jobs. If the others have the same among themselves, it is
// this node that is behind or ahead.
func adviceOnJobs(c *api.Cluster) []string {
	var others []*api.Peer
	ids := make(map[string]bool)
	agreeing := false
	for i := range c.Peers {
		switch p := &c.Peers[i]; p.Status {
		case api.PeerSyncing, api.PeerDrifted:
			others = append(others, p)
			ids[string(p.JobSetID)] = true
		case api.PeerAgreed:
			agreeing = true
		}
	}
	if len(others) == 0 {
		return nil
	}
	const compare = "Compare `yacron2 validate -job-set-id` there and here, and ask both with `yacron2 reload` whether they refuse their files."
	if len(others) > 1 && len(ids) == 1 && !agreeing {
		return []string{fmt.Sprintf("This node has other jobs (%s) than the %d others that it reaches (%s): bring its files up to date. %s",
			shortID(c.JobSetID), len(others), shortID(string(others[0].JobSetID)), compare)}
	}
	names := make([]string, len(others))
	for i, p := range others {
		names[i] = peerName(p)
	}
	verb := "has"
	if len(others) > 1 {
		verb = "have"
	}
	return []string{fmt.Sprintf("%s %s other jobs than this node. While files are being copied that passes. %s", strings.Join(names, ", "), verb, compare)}
}

// adviceOnPeer says why a peer does not count, "" if it does or another advice is about that.
func adviceOnPeer(c *api.Cluster, p *api.Peer) string {
	name := peerName(p)
	switch p.Status {
	case api.PeerUnreachable:
		if p.Stopping {
			return name + " was stopped. Start its agent when it is to take part again."
		}
		return fmt.Sprintf("%s can't be reached: %s. %s", name, cmp.Or(string(p.LastError), "no reason is known"), adviceOnError(string(p.LastError)))
	case api.PeerUntrusted:
		return fmt.Sprintf("%s and this node don't trust each other: %s. Look with `yacron2 tls inspect` at the three files of both (cluster.tls), and at both clocks.",
			name, cmp.Or(string(p.LastError), "no reason is known"))
	case api.PeerAgreed:
		i := slices.IndexFunc(p.Members, func(m api.ToldMember) bool { return m.InstanceID == c.InstanceID })
		if len(p.Members) > 0 && c.InstanceID != "" && (i < 0 || !p.Members[i].Agreed) {
			return name + " has the same jobs, but does not count this node. Ask it why: `yacron2 members` over there."
		}
		if p.Clock != nil && p.Clock.Excessive {
			return fmt.Sprintf("The clock of %s differs from this node's by %s: claims of firings are refused from 2 s on. Set both by NTP.", name, clockText(p.Clock))
		}
	}
	return ""
}

// adviceOnError says where to look for what an error tells. The texts are those of the
// agent and of the system under it.
func adviceOnError(text string) string {
	for _, known := range []struct {
		words  []string
		advice string
	}{
		{[]string{"connection refused"}, "Nothing listens there: is the agent running, and does its cluster.listen have that port?"},
		{[]string{"lookup ", "no such host"}, "The name leads nowhere from here: DNS, /etc/hosts, or a mistake in cluster.peers?"},
		{[]string{"does not look like a TLS handshake"}, "Something else answers on that port: cluster.peers must have the port of cluster.listen, not that of the API."},
		{[]string{"timed out", "timeout", "no route to host", "unreachable"}, "The machine, the network or a firewall in between?"},
		{[]string{"closed the session", "closed the connection", "connection reset", "broken pipe"}, "Its agent has just ended or refused: see its log."},
	} {
		if slices.ContainsFunc(known.words, func(w string) bool { return strings.Contains(text, w) }) {
			return known.advice
		}
	}
	return "See its agent's log, and that of this one."
}
