package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yacron2/yacron2/election"
)

// clusterReader reads the cluster section. Its rules are checked in a fixed order,
// general ones first; all that are broken are reported.
type clusterReader struct {
	*loader
	section *node
	out     *Cluster
}

// cluster returns the cluster section, or nil if there is none.
func (l *loader) cluster(n *node) *Cluster {
	if n == nil || n.kind != mapping {
		return nil
	}
	r := clusterReader{loader: l, section: n, out: &Cluster{
		Backend:        backendGossip,
		ConnectTimeout: 10 * time.Second,
		Distribution:   election.SingleLeader,
	}}
	r.read()
	return r.out
}

func (r *clusterReader) failAt(n *node, key, message, hint string) {
	r.fail(n.pos, "cluster."+key, message, hint)
}

func (r *clusterReader) warnAt(n *node, key, message, hint string) {
	r.warn(n.pos, "cluster."+key, message, hint)
}

// text returns the text of a key, or a default if the key is absent or blank.
func textOr(n *node, fallback string) string {
	if n == nil || n.kind != scalar || n.text == "" {
		return fallback
	}
	return n.text
}

func (r *clusterReader) read() {
	s, c := r.section, r.out
	c.Backend = textOr(s.get("backend"), backendGossip)
	if !slices.Contains(clusterKeys.key("backend").enum, c.Backend) {
		return // reported as an unknown value
	}
	lease := c.Backend != backendGossip
	r.nodeName()
	if n := s.get("connectTimeout"); n != nil {
		if v, ok := intOf(n); ok {
			if v <= 0 {
				r.failAt(n, "connectTimeout", spell(n, "connectTimeout")+" must be above 0 seconds, not "+quote(n.text), "")
			}
			c.ConnectTimeout = seconds(float64(v))
		}
	}
	c.Distribution = election.Distribution(textOr(s.get("distribution"), string(election.SingleLeader)))
	boolOf(s.get("electLeader"), &c.ElectLeader)
	if lease && c.Distribution == election.Spread {
		r.failAt(s.get("distribution"), "distribution", "distribution spread needs the gossip backend: a lease has one holder",
			"write single-leader, or leave the key out")
	}
	for _, block := range []string{backendEtcd, backendKubernetes, backendConsul} {
		if n := s.get(block); n != nil && block != c.Backend {
			r.failAt(n, block, "there is a block "+block+", but the backend is "+c.Backend, "remove the block, or set backend: "+block)
		}
	}
	switch c.Backend {
	case backendGossip:
		r.gossip()
	case backendKubernetes:
		r.kubernetes()
	case backendEtcd:
		r.etcd()
	case backendConsul:
		r.consul()
	}
	if lease {
		if n := s.get("electLeader"); n != nil && !c.ElectLeader {
			r.warnAt(n, "electLeader", spell(n, "electLeader")+": false has no effect: the "+c.Backend+" backend always elects", "remove the key")
		}
		c.ElectLeader = true
		for _, key := range []string{"listen", "tls", "peers", "interval", "driftAfter", "verifyPeerNames"} {
			if n := s.get(key); n != nil {
				hint := "remove the key"
				if key == "tls" {
					hint = "the connection to the store is not encrypted by this block; use " + c.Backend + ".tls"
					if c.Backend == backendKubernetes {
						hint = "remove the key: the pod's account or the kubeconfig brings the certificates"
					}
				}
				r.warnAt(n, key, spell(n, key)+" has no effect on the "+c.Backend+" backend", hint)
			}
		}
	}
}

func (r *clusterReader) nodeName() {
	n := r.section.get("nodeName")
	if name := textOr(n, ""); name != "" {
		r.out.NodeName = name
		if utf8.RuneCountInString(name) > 256 || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
			r.failAt(n, "nodeName", spell(n, "nodeName")+" must be at most 256 printable characters", "other nodes would not accept it")
		}
		return
	}
	host, err := r.host.Hostname()
	if err != nil || host == "" {
		at := r.section
		if n != nil {
			at = n
		}
		r.failAt(at, "nodeName", "this machine has no host name to use as "+spell(at, "nodeName"), "set "+spell(at, "nodeName"))
	}
	r.out.NodeName = host
}

func (r *clusterReader) gossip() {
	s := r.section
	g := &Gossip{Interval: 30 * time.Second, DriftAfter: 3}
	r.out.Gossip = g
	if !r.clean("listen", "tls", "peers", "interval", "driftAfter") {
		return
	}
	for _, key := range []string{"listen", "tls", "peers"} {
		if s.get(key) == nil {
			r.failAt(s, key, "the gossip backend needs "+key, map[string]string{
				"listen": "e.g. listen: 0.0.0.0:8443",
				"tls":    "all nodes talk over mutual TLS: give ca, cert and key",
				"peers":  "list the other nodes: peers: [{host: node-b:8443}]",
			}[key])
		}
	}
	if n := s.get("interval"); n != nil {
		if v, ok := intOf(n); ok {
			if v <= 0 {
				r.failAt(n, "interval", "interval must be above 0 seconds, not "+quote(n.text), "")
			}
			g.Interval = seconds(float64(v))
		}
	}
	if n := s.get("driftAfter"); n != nil {
		if v, ok := intOf(n); ok {
			if v < 1 {
				r.failAt(n, "driftAfter", spell(n, "driftAfter")+" must be at least 1 round, not "+quote(n.text), "")
			}
			g.DriftAfter = v
		}
	}
	boolOf(s.get("verifyPeerNames"), &g.VerifyPeerNames)
	if t := s.get("tls"); t != nil {
		textOf(t.get("ca"), &g.CAFile)
		textOf(t.get("cert"), &g.CertFile)
		textOf(t.get("key"), &g.KeyFile)
		for _, key := range []string{"ca", "cert", "key"} {
			if n := t.get(key); n != nil && n.blank() {
				r.failAt(n, "tls."+key, "tls."+key+" is blank", "name a PEM file")
			}
		}
	}
	// They are read by whoever uses them, and at once when they change: somebody waits for
	// that before going on to the next node.
	for _, path := range []string{g.CAFile, g.CertFile} {
		if path != "" {
			r.watch(path)
		}
	}
	if g.KeyFile != "" {
		r.privateFile(s.get("tls").get("key"), "cluster.tls.key", "", g.KeyFile, false)
	}
	r.peers(g)
}

// clean reports whether the named keys, as far as given, have the right form: their
// rules would otherwise say wrong things about them.
func (r *clusterReader) clean(keys ...string) bool {
	for _, key := range keys {
		if n := r.section.get(key); n != nil && n.kind != clusterKeys.key(key).nodeKind() {
			return false
		}
	}
	return true
}

func (r *clusterReader) peers(g *Gossip) {
	s := r.section
	listen, peers := s.get("listen"), s.get("peers")
	valid := true
	p := peerList{nodeName: r.out.NodeName}
	if listen != nil {
		host, port, err := splitHostPort(listen.text)
		if err != nil {
			r.failAt(listen, "listen", "listen "+quote(listen.text)+": "+err.Error(), "e.g. 0.0.0.0:8443")
			valid = false
		}
		g.Listen = listen.text
		p.listen, p.listenHost, p.listenPort = listen.text, host, port
	}
	if peers == nil {
		return
	}
	type address struct {
		host string
		port int
	}
	addresses := map[string]address{}
	for i, item := range peers.items {
		n := item.get("host")
		if n == nil || n.kind != scalar {
			continue
		}
		host, port, err := splitHostPort(n.text)
		if err != nil {
			r.failAt(n, "peers["+strconv.Itoa(i)+"].host", "peer "+quote(n.text)+": "+err.Error(), "e.g. node-b.example.com:8443")
			valid = false
			continue
		}
		addresses[n.text] = address{host, port}
		p.add(n.text, host, port)
	}
	g.Peers = p.hosts
	if !valid {
		return
	}
	elect, size := r.out.ElectLeader, p.size()
	spread := r.out.Distribution == election.Spread
	switch {
	case elect && size == 2:
		r.failAt(peers, "peers", "a cluster of exactly 2 nodes cannot elect: neither is a majority alone",
			"add a third node, or set "+spell(s, "electLeader")+": false")
	case size > 2 && size%2 == 0:
		r.warnAt(peers, "peers", "a cluster of "+strconv.Itoa(size)+" nodes bears no more failures than one of "+strconv.Itoa(size-1),
			"use an odd number of nodes")
	}
	var alike []string
	for _, peer := range p.hosts {
		if a := addresses[peer]; p.looksLikeSelf(a.host, a.port) {
			alike = append(alike, peer)
		}
	}
	if len(alike) > 0 && size-len(alike) <= 2 {
		verb := " looks"
		if len(alike) > 1 {
			verb = " look"
		}
		r.warnAt(peers, "peers", andList(alike)+verb+" like this node itself; without it the cluster has "+
			strconv.Itoa(size-len(alike))+" node(s)", "list the other nodes only")
	}
	if spread && !elect {
		r.warnAt(s.get("distribution"), "distribution", "distribution spread has no effect without "+spell(s, "electLeader"),
			"set "+spell(s, "electLeader")+": true")
	}
}
