package gossip

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Interval and drift limit change in a running node: its sessions stay, and so does
// what it has counted.
func TestRetune(t *testing.T) {
	c := newTestCluster(t)
	slow := func(c *Config) { c.Interval, c.DriftAfter = time.Hour, 1000 }
	a, b := c.node("a", slow), c.node("b", rarely)
	c.node("c", rarely)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	wait(t, "the first round", func() bool { return a.View().State().Rounds == 1 })
	session := a.registry.route(b.InstanceID())

	b.SetJobSet("v1:other", nil)
	a.sees("b", election.StatusSyncing)
	if err := a.Retune(10*time.Millisecond, 1000); err != nil {
		t.Fatal(err)
	}
	wait(t, "many rounds", func() bool { return a.row("b").MismatchStreak >= 5 })
	if p := a.row("b"); p.Status != election.StatusSyncing {
		t.Errorf("drifted below the limit: %+v", p)
	}
	if err := a.Retune(10*time.Millisecond, 5); err != nil {
		t.Fatal(err)
	}
	if p := a.sees("b", election.StatusDrifted); p.MismatchStreak < 5 {
		t.Errorf("the streak began anew: %+v", p)
	}
	if session == nil || a.registry.route(b.InstanceID()) != session {
		t.Error("the session was renewed")
	}
	for _, bad := range []struct {
		interval time.Duration
		drift    int
	}{{0, 3}, {time.Second, 0}} {
		if err := a.Retune(bad.interval, bad.drift); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestCheckCertificates(t *testing.T) {
	c := newTestCluster(t)
	config := c.node("a").config
	if err := config.CheckCertificates(); err != nil {
		t.Error(err)
	}
	other := c.node("b").config
	config.KeyFile = other.KeyFile
	if err := config.CheckCertificates(); err == nil || !strings.Contains(err.Error(), config.CertFile) {
		t.Errorf("a key of another certificate: %v", err)
	}
	config.CAFile = config.KeyFile + ".none"
	if err := config.CheckCertificates(); err == nil || !strings.Contains(err.Error(), config.CAFile) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestCheckListen(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Listen: ln.Addr().String()}
	if err := config.CheckListen(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("an address in use: %v", err)
	}
	config.Listen = "*:0"
	if err := errors.Join(config.CheckListen(), ln.Close()); err != nil {
		t.Error(err)
	}
}

// 0.0.0.0 is IPv4, and nothing else is served there by the way.
func TestListenTCPServesTheFamilyThatIsNamed(t *testing.T) {
	ln, err := listenTCP("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := ln.Addr().(*net.TCPAddr); !ok || got.IP.To4() == nil {
		t.Errorf("it became %v", ln.Addr())
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
}
