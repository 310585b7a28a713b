package report

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// RunStarted tells statsd that a process was started. s may be nil.
func (r *Reporter) RunStarted(s *Statsd, job string) {
	if s == nil {
		return
	}
	r.statsd(s, job, s.Prefix+".start:1|g\n")
}

// RunEnded tells statsd how a run ended that was started. s may be nil.
func (r *Reporter) RunEnded(s *Statsd, job string, success bool, took time.Duration) {
	if s == nil {
		return
	}
	// The sample rate is what dashboards of old expect; nothing is sampled.
	r.statsd(s, job, fmt.Sprintf("%[1]s.stop:1|g\n%[1]s.success:%[2]s|g\n%[1]s.duration:%[3]d|ms|@0.1\n",
		s.Prefix, flag(success), max(0, took).Milliseconds()))
}

// statsd queues one datagram, in order with the others to that server.
func (r *Reporter) statsd(s *Statsd, job, text string) {
	address := net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	ok := r.lanes.add("statsd "+address, 1, work{size: len(text) + 256, do: func() {
		if err := r.sendDatagram(address, text); err != nil {
			r.cfg.Logger.Error("statsd was not told", "job", job, "server", address, "error", err)
		}
	}})
	if !ok {
		r.dropped("statsd", job)
	}
}

// sendDatagram resolves the server each time: it may have moved.
func (r *Reporter) sendDatagram(address, text string) error {
	dialer := net.Dialer{Timeout: r.limits.statsd}
	conn, err := dialer.DialContext(r.ctx, "udp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(text))
	return err
}
