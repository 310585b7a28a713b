package config

import (
	"net/netip"
	"slices"
	"strings"
)

// peerList is the list of peers with everything that the rules about it need.
type peerList struct {
	listen     string
	listenHost string
	listenPort int
	nodeName   string
	hosts      []string // without repeats and entries that are this node
}

// isWildcard reports whether the node listens on all addresses.
func isWildcard(host string) bool {
	switch host {
	case "*", "0.0.0.0", "::":
		return true
	}
	return false
}

// add takes one valid peer, unless it is a repeat or plainly this node itself. No name
// is resolved: the size of a cluster must not depend on DNS.
func (p *peerList) add(peer, host string, port int) {
	if slices.Contains(p.hosts, peer) || peer == p.listen {
		return
	}
	if isWildcard(p.listenHost) && port == p.listenPort {
		if host == p.nodeName || p.ownLoopback(host) {
			return
		}
	}
	p.hosts = append(p.hosts, peer)
}

// ownLoopback reports whether a literal loopback address is of the family on which
// the node listens.
func (p *peerList) ownLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Unmap().IsLoopback() {
		return false
	}
	switch p.listenHost {
	case "0.0.0.0":
		return addr.Unmap().Is4()
	case "::":
		return addr.Is6()
	}
	return true
}

// looksLikeSelf reports whether a peer that was kept may still be this node.
func (p *peerList) looksLikeSelf(host string, port int) bool {
	label, _, _ := strings.Cut(host, ".")
	if _, err := netip.ParseAddr(host); err == nil {
		label = ""
	}
	switch {
	case isWildcard(p.listenHost) && label != "" && label == p.nodeName:
		return true
	case port == p.listenPort && (isLoopback(host) || host == "localhost"):
		return true
	}
	return false
}

// size is the number of nodes: the peers and this one.
func (p *peerList) size() int { return len(p.hosts) + 1 }
