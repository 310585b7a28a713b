package testcluster

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Settings is what a node's cluster.yaml says.
type Settings struct {
	NodeName string
	Listen   string   // of the cluster listener, host:port
	Address  string   // host:port by which the other nodes know it; "" is Listen
	APIPort  int      // on 127.0.0.1
	Socket   string   // of the API, instead of a port; a path
	Peers    []string // host:port of every other node

	ElectLeader  bool
	Distribution string // "" leaves it out, as the zero values below do
	Interval     int    // seconds
	DriftAfter   int    // rounds

	// Web is further keys of the web section, one a line, without indentation.
	Web string
	// Token is what the node's client sends.
	Token string

	// Store is the lines of a cluster section whose backend is a store, in YAML and
	// without indentation; "" is gossip.
	Store string
	// DataDir is where the node keeps what outlives its process; "" for nowhere.
	DataDir string
	// Alone leaves the cluster section out.
	Alone bool
}

// API returns the base URL of the node's HTTP interface.
func (s Settings) API() string {
	if s.Socket != "" {
		return "unix://" + s.Socket
	}
	return "http://" + loopback(s.APIPort)
}

// PeerAddress returns the host:port by which the other nodes know this one.
func (s Settings) PeerAddress() string { return cmp.Or(s.Address, s.Listen) }

// yaml returns the settings as a configuration file whose certificates lie in tls.
func (s Settings) yaml(tls string) string {
	var b strings.Builder
	line := func(indent int, key, value string) {
		fmt.Fprintf(&b, "%s%s: %s\n", strings.Repeat("  ", indent), key, value)
	}
	b.WriteString("web:\n  listen:\n    - " + strconv.Quote(s.API()) + "\n")
	for key := range strings.Lines(s.Web) {
		b.WriteString("  " + strings.TrimSuffix(key, "\n") + "\n")
	}
	if s.DataDir != "" {
		line(0, "dataDir", strconv.Quote(s.DataDir))
	}
	if s.Alone {
		return b.String()
	}
	b.WriteString("cluster:\n")
	line(1, "nodeName", strconv.Quote(s.NodeName))
	if s.Store != "" {
		for l := range strings.Lines(s.Store) {
			b.WriteString("  " + l)
		}
		return b.String() + "\n"
	}
	line(1, "listen", strconv.Quote(s.Listen))
	line(1, "electLeader", strconv.FormatBool(s.ElectLeader))
	if s.Distribution != "" {
		line(1, "distribution", s.Distribution)
	}
	if s.Interval != 0 {
		line(1, "interval", strconv.Itoa(s.Interval))
	}
	if s.DriftAfter != 0 {
		line(1, "driftAfter", strconv.Itoa(s.DriftAfter))
	}
	b.WriteString("  tls:\n")
	line(2, "ca", strconv.Quote(filepath.Join(tls, "ca.pem")))
	line(2, "cert", strconv.Quote(filepath.Join(tls, "node.pem")))
	line(2, "key", strconv.Quote(filepath.Join(tls, "node-key.pem")))
	if len(s.Peers) == 0 {
		line(1, "peers", "[]")
		return b.String()
	}
	b.WriteString("  peers:\n")
	for _, host := range s.Peers {
		b.WriteString("    - host: " + strconv.Quote(host) + "\n")
	}
	return b.String()
}

// Job is one job of a configuration.
type Job struct {
	Name     string
	Schedule string // "" fires every second
	Policy   string // "" leaves clusterPolicy out
	Command  string // for the shell
	More     string // further keys, one a line, without indentation
}

// EverySecond fires at each second.
const EverySecond = "* * * * * * *"

// Jobs returns a configuration file with the given jobs.
func Jobs(jobs ...Job) string {
	var b strings.Builder
	b.WriteString("jobs:\n")
	for _, j := range jobs {
		if j.Schedule == "" {
			j.Schedule = EverySecond
		}
		fmt.Fprintf(&b, "  - name: %s\n", strconv.Quote(j.Name))
		fmt.Fprintf(&b, "    schedule: %s\n", strconv.Quote(j.Schedule))
		fmt.Fprintf(&b, "    command: %s\n", strconv.Quote(j.Command))
		if j.Policy != "" {
			fmt.Fprintf(&b, "    clusterPolicy: %s\n", j.Policy)
		}
		for line := range strings.Lines(j.More) {
			b.WriteString("    " + line)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// WriteConfig writes the node's settings, as they are now, into its configuration. An
// agent that runs takes them up at its next reload or start.
func (n *Node) WriteConfig() {
	n.tb.Helper()
	n.WriteFile("cluster.yaml", n.yaml(n.tlsDir()))
}

// WriteFile puts content into a file of the node's configuration directory.
func (n *Node) WriteFile(name, content string) {
	n.tb.Helper()
	n.write(filepath.Join(n.configDir(), name), content)
}

// WriteJobs replaces the node's jobs.
func (n *Node) WriteJobs(jobs ...Job) {
	n.tb.Helper()
	n.WriteFile("jobs.yaml", Jobs(jobs...))
}

// write replaces a file at once, so that an agent never reads a part of it.
func (n *Node) write(path, content string) {
	n.tb.Helper()
	fresh := filepath.Join(n.dir, "fresh")
	if err := os.WriteFile(fresh, []byte(content), 0o600); err != nil {
		n.tb.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		n.tb.Fatal(err)
	}
}
