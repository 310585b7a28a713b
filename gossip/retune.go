package gossip

import (
	"fmt"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Retune changes the interval and the number of rounds after which another job set is
// drift, while the manager runs: no session is renewed, and no status or streak is
// forgotten. The next round comes an interval after the newest one.
func (m *Manager) Retune(interval time.Duration, driftAfter int) error {
	if interval <= 0 || driftAfter < 1 {
		return fmt.Errorf("interval %v, drift after %d rounds: both must be positive", interval, driftAfter)
	}
	if m.interval.Swap(int64(interval)) != int64(interval) {
		signal(m.retuned)
	}
	m.table.update(func(self *election.Self, _ *election.State) { self.DriftAfter = driftAfter })
	return nil
}

// CheckCertificates reads the TLS files as Start will do, and returns why they cannot
// be used.
func (c *Config) CheckCertificates() error {
	files := &credentials{caFile: c.CAFile, certFile: c.CertFile, keyFile: c.KeyFile}
	return files.load()
}

// CheckListen binds the address for a moment, and returns why that cannot be done.
func (c *Config) CheckListen() error {
	ln, err := listenTCP(c.Listen)
	if err != nil {
		return err
	}
	return ln.Close()
}
