package gossip

import (
	"time"

	"github.com/hashicorp/go-metrics"
)

// count adds one to a counter.
func (m *Manager) count(name ...string) {
	m.metrics.IncrCounter(metricKey(name...), 1)
}

// sample adds how long something took that began then.
func (m *Manager) sample(began time.Time, name ...string) {
	m.metrics.AddSample(metricKey(name...), float32(time.Since(began).Seconds()*1000))
}

// countSessions shows how many sessions there are now.
func (m *Manager) countSessions(outgoing, inbound int) {
	for direction, n := range map[string]int{"outgoing": outgoing, "inbound": inbound} {
		m.metrics.SetGaugeWithLabels(metricKey("sessions"), float32(n), []metrics.Label{{Name: "direction", Value: direction}})
	}
}

func metricKey(name ...string) []string { return append([]string{"yacron2", "gossip"}, name...) }
