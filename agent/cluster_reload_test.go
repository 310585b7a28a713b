package agent

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const secondly = `"* * * * * * *"`

// TestReloadOfTheClusterSection changes the section of running members in every way. No
// firing of a Leader job is lost or doubled by it, the listeners and the instance ids
// stay, and a section that cannot work changes nothing.
func TestReloadOfTheClusterSection(t *testing.T) {
	t.Parallel()
	j := journal(filepath.Join(t.TempDir(), "journal"))
	members := startMembers(t, 3, `
jobs:
  - {name: tick, schedule: `+secondly+`, startingDeadline: 300, command: '`+j.command()+`'}
  - {name: once, schedule: "@reboot", command: '`+j.command()+`'}
`)
	a, b, c := members[0], members[1], members[2]
	awaitAgreement(t, members)
	ran := func(after time.Time) {
		t.Helper()
		at := after.Truncate(time.Second).Add(time.Second)
		eventually(t, "the firing at "+at.UTC().Format(time.TimeOnly), func() bool { return j.ranAt(t, "tick", at) })
	}
	// A new process grants nothing in its first seconds.
	eventually(t, "the first firing", func() bool { return len(j.counts(t, "tick")) > 0 })
	first := time.Now().Truncate(time.Second).Add(time.Second)
	ran(first)

	type identity struct {
		backend backend
		address string
	}
	now := func(m *member) identity {
		be := m.backendNow().(*gossipBackend)
		return identity{be, be.ListenAddr().String()}
	}
	leads := func(m *member) bool { return m.coordination.View().IsLeader() }
	if !leads(a) {
		t.Fatal("a does not lead")
	}

	// What concerns one node alone changes in place, and so does what means nothing.
	before := now(a)
	for _, keys := range []map[string]string{
		{"interval": "7"},
		{"driftAfter": "9"},
		{"peers": `[{host: "` + a.peers[1] + `"}, {host: "` + a.peers[0] + `"}]`},
	} {
		a.change(keys)
		if now(a) != before || !leads(a) {
			t.Errorf("%v was no reason to begin anew", keys)
		}
	}
	ran(time.Now())

	// The rest is built anew, at the same address, as the same instance.
	for _, rebuild := range []struct {
		what    string
		members []*member
		keys    map[string]string
	}{
		{"the leader", []*member{a}, map[string]string{"connectTimeout": "7"}},
		{"a follower", []*member{b}, map[string]string{"verifyPeerNames": "true"}},
		{"all at once", members, map[string]string{"connectTimeout": "8"}},
		{"all in turn, to another policy", members, map[string]string{"distribution": "spread"}},
		{"all in turn, and back", members, map[string]string{"distribution": "single-leader"}},
	} {
		var all sync.WaitGroup
		for _, m := range rebuild.members {
			step := func() {
				before := now(m)
				m.change(rebuild.keys)
				eventually(t, rebuild.what+": a backend runs", func() bool { return m.backendNow() != nil })
				after := now(m)
				if after.backend == before.backend || after.address != before.address || after.address != m.listen {
					t.Errorf("%s: %s before %+v, after %+v", rebuild.what, m.name, before, after)
				}
				if id := m.coordination.View().InstanceID(); id != m.instanceID {
					t.Errorf("%s: %s is now instance %s, was %s", rebuild.what, m.name, id, m.instanceID)
				}
			}
			if rebuild.what == "all at once" {
				all.Go(step)
			} else {
				step()
			}
		}
		all.Wait()
		awaitAgreement(t, members)
		ran(time.Now())
	}

	// What cannot work is refused as a whole.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	before = now(c)
	set := c.config.Load().JobSetID
	for _, bad := range []struct{ key, value, want string }{
		{"listen", taken.Addr().String(), "address already in use"},
		{"tls", "{ca: " + c.tls + "/ca.pem, cert: " + c.tls + "/none.pem, key: " + c.tls + "/node-key.pem}", "none.pem"},
		{"nodeName", "other", "needs a restart"},
		{"interval", "0", "interval must be above 0"},
	} {
		c.writeCluster(map[string]string{bad.key: bad.value})
		c.write("more.yaml", "jobs: [{name: more, schedule: '@daily', command: 'true'}]\n")
		if err := c.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v", bad.key, err)
		}
		if now(c) != before || c.config.Load().JobSetID != set {
			t.Errorf("%s: a refused reload changed something", bad.key)
		}
	}
	c.write("more.yaml", "")
	c.change(nil)
	awaitAgreement(t, members)
	last := time.Now().Truncate(time.Second)
	ran(last)
	j.fired(t, []string{"tick"}, first, last, a.Agent, b.Agent, c.Agent)
	if n := j.counts(t, "once")["boot"]; n != 1 {
		t.Errorf("the @reboot job ran %d times", n)
	}
}

// TestRenewedCertificatesAreTakenUp: a reload looks at the certificates, and what does
// not fit together leaves those in use.
func TestRenewedCertificatesAreTakenUp(t *testing.T) {
	t.Parallel()
	members := startMembers(t, 3, oneJob)
	awaitAgreement(t, members)
	a := members[0]
	before := a.backendNow()
	a.write("jobs.yaml", oneJob+"    shell: /bin/bash\n")
	if err := os.WriteFile(filepath.Join(a.tls, "node-key.pem"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Reload(t.Context()); err != nil {
		t.Fatalf("a key in the middle of its renewal: %v", err)
	}
	if a.backendNow() != before || !strings.Contains(a.log.String(), "keeping the cluster certificates in use") {
		t.Error("a running manager did not survive that")
	}
}
