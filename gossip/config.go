package gossip

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"

	"github.com/yacron2/yacron2/election"
)

// Config describes one node of a gossip cluster. DefaultConfig fills what has a
// default. All of it is fixed for the life of a Manager, but for what SetJobSet and
// Retune replace.
type Config struct {
	// NodeName is the node's stable name, unique in the cluster: 1 to 256 printable
	// characters.
	NodeName string
	// InstanceID tells this process from every other: 32 hex digits in lower case.
	// New makes one if it is empty.
	InstanceID string

	// Listen is the host:port of the one listener. Port 0 takes a free one.
	Listen string
	// Peers are the other nodes as host:port, without repeats. The host must be a
	// name or an address of the peer's certificate.
	Peers []string

	// The PEM files of mutual TLS, read again when they change.
	CAFile, CertFile, KeyFile string
	// VerifyPeerNames refuses clients whose certificate names no configured peer.
	VerifyPeerNames bool

	// Interval is the time from one scheduled round to the next, DriftAfter the number
	// of rounds after which another job set counts as drift. Retune replaces both.
	Interval   time.Duration
	DriftAfter int
	// ConnectTimeout bounds one connection attempt, and one exchange.
	ConnectTimeout time.Duration

	// ElectLeader and Distribution are this node's coordination policy, told to the
	// peers and compared with theirs.
	ElectLeader  bool
	Distribution election.Distribution

	// JobSetID is the fingerprint of this node's jobs, LeaderJobs the names of the
	// enabled jobs with the policy Leader. SetJobSet replaces both.
	JobSetID   string
	LeaderJobs []string

	// Running reports whether a job runs on this node; nil means that none does.
	// It is called from many goroutines and must return quickly, like the others.
	Running func(job string) bool
	// NeedRunning reports whether a claim on this job must learn where the job runs
	// (its concurrency policy is Forbid or Replace); nil means never.
	NeedRunning func(job string) bool
	// Summaries returns the state of this node's jobs for the fleet picture, and
	// whether it is incomplete; nil tells nothing. What exceeds the caps is cut.
	Summaries func() (jobs map[string]JobSummary, truncated bool)

	// Voter is the process's voter; nil makes one that keeps its votes in memory and
	// forgets them with the Manager.
	Voter *Voter

	Logger hclog.Logger // nil: silent
	// Metrics takes what is counted and measured, under yacron2.gossip. Counters:
	// session.dialled, session.opened, session.accepted, exchange.done, exchange.failed,
	// exchange.spared, packet.dropped. Samples in milliseconds: round, claim. Gauges: sessions, with the
	// label direction (outgoing, inbound).
	Metrics metrics.MetricSink // nil: none

	// Now reads the wall clock that is compared with those of the peers, and by which a
	// Voter that New makes votes; nil is time.Now.
	Now func() time.Time

	// For tests: where connections come from and go to.
	listen func(addr string) (net.Listener, error)
	dial   dialFunc
}

// DefaultConfig returns the defaults of every optional setting.
func DefaultConfig() Config {
	return Config{
		Interval:       30 * time.Second,
		DriftAfter:     3,
		ConnectTimeout: 10 * time.Second,
		Distribution:   election.SingleLeader,
	}
}

// Validate reports everything that is wrong with c, one error each, joined.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !printable(c.NodeName, maxNameLen) {
		bad("node name %q: it must have 1 to %d printable characters", c.NodeName, maxNameLen)
	}
	if c.InstanceID != "" && !validInstance(c.InstanceID) {
		bad("instance id %q: it must be %d hex digits in lower case", c.InstanceID, instanceLen)
	}
	if err := checkHostPort(c.Listen, true); err != nil {
		bad("listen address %q: %w", c.Listen, err)
	}
	seen := make(map[string]bool, len(c.Peers))
	for _, p := range c.Peers {
		if err := checkHostPort(p, false); err != nil {
			bad("peer %q: %w", p, err)
		}
		if seen[p] {
			bad("peer %q is listed twice", p)
		}
		seen[p] = true
	}
	if len(c.Peers) > maxPeers {
		bad("%d peers: at most %d are supported", len(c.Peers), maxPeers)
	}
	for _, f := range []struct{ what, path string }{
		{"CA", c.CAFile}, {"certificate", c.CertFile}, {"key", c.KeyFile},
	} {
		if f.path == "" {
			bad("no %s file", f.what)
		}
	}
	if c.Interval <= 0 {
		bad("interval %v: it must be positive", c.Interval)
	}
	if c.ConnectTimeout <= 0 {
		bad("connect timeout %v: it must be positive", c.ConnectTimeout)
	}
	if c.DriftAfter < 1 {
		bad("drift after %d rounds: it must be at least 1", c.DriftAfter)
	}
	if c.Distribution != election.SingleLeader && c.Distribution != election.Spread {
		bad("distribution %q: it must be %s or %s", c.Distribution, election.SingleLeader, election.Spread)
	}
	return errors.Join(errs...)
}

// maxPeers bounds the peer list: everything is exchanged with everybody.
const maxPeers = 256

// checkHostPort reports why addr is not host:port. A listen address may leave the
// host empty and the port 0.
func checkHostPort(addr string, listen bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if host == "" && !listen {
		return errors.New("no host")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || (n == 0 && !listen) {
		return fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return nil
}

// serverName returns the name that the certificate of a peer must carry: the host part
// without brackets, and without the zone that no certificate can name.
func serverName(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return hostPort
	}
	if name, _, zoned := strings.Cut(host, "%"); zoned {
		return name
	}
	return host
}
