package agent

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
)

// member is one of several agents in this process that form a cluster over loopback.
type member struct {
	*Agent
	t      *testing.T
	dir    string // of its configuration
	name   string
	listen string
	log    *lockedBuffer

	// The cluster section.
	tls   string // the folder of the TLS files
	peers []string
	keys  map[string]string
}

// startMembers runs a cluster of agents, named a, b and so on, that have the jobs.
func startMembers(t *testing.T, n int, jobs string) []*member {
	t.Helper()
	from := time.Now().Add(-time.Hour)
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "test CA", NotBefore: from, NotAfter: from.Add(24 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	// All are held until each has its own: nobody is given one twice.
	members, held := make([]*member, n), make([]net.Listener, n)
	for i := range members {
		m := &member{t: t, dir: t.TempDir(), tls: t.TempDir(), name: string(rune('a' + i)), log: &lockedBuffer{},
			keys: map[string]string{"electLeader": "true"}}
		// Known before it listens, since the others must name it.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held[i], m.listen = l, l.Addr().String()
		m.issue(ca, "node")
		members[i] = m
	}
	for _, l := range held {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		for _, other := range members {
			if other != m {
				m.peers = append(m.peers, other.listen)
			}
		}
		m.writeCluster(nil)
		m.write("jobs.yaml", jobs)
		if m.Agent, err = New(Options{ConfigDirs: []string{m.dir}, Stdout: m.log, Stderr: m.log}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for _, m := range members {
			all.Go(func() {
				if err := m.Stop(ctx); err != nil {
					t.Errorf("%s: stop: %v", m.name, err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			for _, m := range members {
				t.Logf("log of %s:\n%s", m.name, m.log)
			}
		}
	})
	for _, m := range members {
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return members
}

// issue writes a certificate for 127.0.0.1, and the CA's beside it.
func (m *member) issue(ca *pki.CA, name string) {
	m.t.Helper()
	from := time.Now().Add(-time.Hour)
	pair, err := ca.Issue(pki.CertOptions{CommonName: m.name, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: from, NotAfter: from.Add(24 * time.Hour)})
	if err != nil {
		m.t.Fatal(err)
	}
	if err := pair.Write(filepath.Join(m.tls, name+".pem"), filepath.Join(m.tls, name+"-key.pem"), true); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.tls, "ca.pem"), ca.CertPEM(), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// write replaces a file of the configuration at once.
func (m *member) write(name, text string) {
	m.t.Helper()
	fresh := filepath.Join(m.dir, ".fresh")
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(m.dir, name)); err != nil {
		m.t.Fatal(err)
	}
}

// writeCluster writes the cluster section with some keys changed.
func (m *member) writeCluster(change map[string]string) {
	m.t.Helper()
	keys := map[string]string{
		"nodeName": m.name, "listen": m.listen,
		"tls":   fmt.Sprintf("{ca: %[1]s/ca.pem, cert: %[1]s/node.pem, key: %[1]s/node-key.pem}", m.tls),
		"peers": "[{host: \"" + strings.Join(m.peers, "\"}, {host: \"") + "\"}]",
	}
	for _, more := range []map[string]string{m.keys, change} {
		for key, value := range more {
			keys[key] = value
		}
	}
	text := "cluster:\n"
	for key, value := range keys {
		text += "  " + key + ": " + value + "\n"
	}
	m.write("cluster.yaml", text)
}

// change changes keys of the cluster section for good and reloads.
func (m *member) change(keys map[string]string) {
	m.t.Helper()
	for key, value := range keys {
		m.keys[key] = value
	}
	m.writeCluster(nil)
	if err := m.Reload(m.t.Context()); err != nil {
		m.t.Fatalf("%s: %v", m.name, err)
	}
}

// backendNow returns what coordinates this member now.
func (m *member) backendNow() backend {
	m.coordination.mu.Lock()
	defer m.coordination.mu.Unlock()
	return m.coordination.current
}

// awaitAgreement waits until all members agree, each with every other.
func awaitAgreement(t *testing.T, members []*member) {
	t.Helper()
	eventually(t, "all agree", func() bool {
		return !slices.ContainsFunc(members, func(m *member) bool {
			v := m.coordination.View()
			return v == nil || len(v.MutualAgreeing()) != len(members)-1 || v.Conflict()
		})
	})
}

// journal is the file into which jobs write their firings.
type journal string

// command is what a job runs to write its line: name, firing, node.
func (j journal) command() string {
	return `echo "$YACRON2_JOB_NAME ${YACRON2_FIRING:-boot} $YACRON2_NODE" >> ` + string(j)
}

// counts returns how often each firing of a job was run.
func (j journal) counts(t *testing.T, job string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(string(j))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == job {
			counts[f[1]]++
		}
	}
	return counts
}

// ranAt reports whether the firing of a job at the instant has run.
func (j journal) ranAt(t *testing.T, job string, at time.Time) bool {
	t.Helper()
	return j.counts(t, job)[at.UTC().Format(time.RFC3339)] > 0
}
