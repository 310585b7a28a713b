package report

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// attempts is how often a report is tried at most.
	attempts = 3

	// patience is the longest pause that a server may ask for.
	patience = time.Minute
)

// temporary is an error of a delivery that certainly did not arrive and may succeed
// later. after is what the server asked for, 0 if it did not.
type temporary struct {
	err   error
	after time.Duration
}

func (e *temporary) Error() string { return e.err.Error() }
func (e *temporary) Unwrap() error { return e.err }

// pause returns how long to wait after attempt number n failed; false: for ever.
func (r *Reporter) pause(err error, n int) (time.Duration, bool) {
	var t *temporary
	if n >= attempts || !errors.As(err, &t) || t.after > patience {
		return 0, false
	}
	return max(r.limits.pauses[n-1], t.after), true
}

// notConnected marks an error as temporary if it comes from before there was a
// connection.
func notConnected(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && !op.Timeout() {
		return &temporary{err: err}
	}
	return err
}

// answer turns the status of an HTTP answer into an error, or nil.
func answer(resp *http.Response, body string, now time.Time) error {
	if resp.StatusCode < 400 {
		return nil
	}
	err := fmt.Errorf("the server answered %s", resp.Status)
	if body = strings.TrimSpace(body); body != "" {
		err = fmt.Errorf("%w: %s", err, body)
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return &temporary{err: err, after: retryAfter(resp.Header.Get("Retry-After"), now)}
	}
	return err
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
