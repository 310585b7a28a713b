package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/consuldouble"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/leasetest"
)

const testKey = "yacron2/leader"

// open returns a store with nothing between it and the double.
func (d *double) open(t *testing.T, adapt func(*Config)) *Store {
	t.Helper()
	cfg := Config{Identity: lease.Identity{NodeName: "node-a", InstanceID: "a"}, Address: d.URL(), ElectionKey: testKey, TTL: MinTTL,
		ConnectTimeout: 10 * time.Second, Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: t.Output()})}
	if adapt != nil {
		adapt(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testcluster.Patience)
	t.Cleanup(cancel)
	return ctx
}

func acquire(t *testing.T, s *Store) lease.Hold {
	t.Helper()
	seen, err := s.Read(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	hold, err := s.Acquire(limited(t), seen.Record)
	if err != nil {
		t.Fatal(err)
	}
	return hold
}

// A key whose session was ended stays free for the lock delay. Nobody gets it before, all
// ask for it at their own pace, and it is said once.
func TestLockDelay(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	const delay = 6 * time.Second
	s := d.setup(t)
	s.Open = opener(d.URL(), func(c *Config) { c.ElectionKey, c.LockDelay = testKey, delay })
	c := leasetest.Start(t, s, 3, nil)
	for range 2 {
		c.AwaitLeader()
		c.AwaitFirings()
		held := d.Holder(testKey)
		if asked := d.LockDelay(held); asked != delay {
			t.Errorf("the session has a lock delay of %v, want %v", asked, delay)
		}
		before, start := d.Requests(), time.Now()
		d.Invalidate(held)
		testcluster.Eventually(t, "somebody has the key", func() error {
			if d.Holder(testKey) == "" {
				return errors.New("nobody has")
			}
			return nil
		})
		took := time.Since(start)
		if took < delay {
			t.Errorf("it was locked again after %v, want %v at least", took, delay)
		}
		// Each of them tries once each pause, and a little more when it hears of a change.
		tried := d.Requests()["PUT kv"] - before["PUT kv"]
		if most := 3 * (3 + int(took/Timing(MinTTL).Retry)); tried > most {
			t.Errorf("%d attempts to lock it in %v, want at most %d", tried, took, most)
		}
		_, all := c.AwaitLeader()
		t.Logf("locked after %v, known to all %v later", took, all)
	}
}

// Without a lock delay there is none; the client library takes 0 for Consul's own 15 s.
func TestNoLockDelay(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	acquire(t, d.open(t, nil))
	if asked := d.LockDelay(d.Holder(testKey)); asked > 10*time.Millisecond {
		t.Errorf("the session has a lock delay of %v, want none", asked)
	}
}

// A session has no health checks: the check of its node may fail. It ends when the node is
// not registered any more, and with it the hold.
func TestNodeOfTheSession(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	s := d.open(t, nil)
	hold := acquire(t, s)
	d.FailNode()
	if _, err := s.Renew(limited(t), hold); err != nil {
		t.Errorf("renewing while the check of the node fails: %v", err)
	}
	d.Deregister()
	if _, err := s.Renew(limited(t), hold); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renewing after the node is gone: %v, want ErrLost", err)
	}
	testcluster.Eventually(t, "the next hold", func() error {
		seen, err := s.Read(limited(t))
		if err != nil {
			return err
		}
		next, err := s.Acquire(limited(t), seen.Record)
		if err == nil && next.Token <= hold.Token {
			t.Errorf("the token went from %d to %d", hold.Token, next.Token)
		}
		return err
	})
}

// What a server refuses is said in words, and is never taken for a hold that is lost.
func TestRefusalsInWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		begin      func(*double)
	}{
		{"another token", `its policy needs key_prefix "yacron2/leader" and session_prefix "" with write: `, func(d *double) { d.RequireToken("another") }},
		{"no token any more", "refuses this node's token", func(d *double) { d.Refuse(http.StatusForbidden, "text/plain", "rpc error making call: ACL not found") }},
		{"no leader", "has no cluster leader at the moment", func(d *double) { d.SetLeader(false) }},
		{"rate limit", "limits its requests and has had too many", func(d *double) {
			d.Refuse(http.StatusTooManyRequests, "text/plain", "rate limit exceeded, try again later")
		}},
		{"rate limit of a leader", "limits its requests and has had too many", func(d *double) {
			d.Refuse(http.StatusServiceUnavailable, "text/plain", "rate limit exceeded for operation that can only be performed by the leader")
		}},
		{"gateway", "502", func(d *double) {
			d.Refuse(http.StatusBadGateway, "text/html", "<html>\n<h1>502 Bad Gateway</h1>\n"+strings.Repeat("<br>", 5000))
		}},
		{"elsewhere", "302", func(d *double) { d.Refuse(http.StatusFound, "text/html", "") }},
		{"a page", "something else than Consul answers there", func(d *double) {
			d.Refuse(http.StatusOK, "text/html", "<html>Sign in, won't you? true</html>")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t, consuldouble.Options{})
			s := d.open(t, nil)
			hold := acquire(t, s)
			test.begin(d)
			firings := []election.Firing{{Job: "job", At: time.Now().UTC().Truncate(time.Second)}}
			mark := &lease.Mark{InstanceID: "a", NodeName: "node-a", Jobs: []string{"job"}}
			for name, do := range map[string]func() error{
				"read":   func() error { _, err := s.Read(limited(t)); return err },
				"renew":  func() error { _, err := s.Renew(limited(t), hold); return err },
				"claim":  func() error { _, _, err := s.Claim(limited(t), hold, firings, mark); return err },
				"reboot": func() error { _, _, err := s.ClaimReboot(limited(t), hold, "v1:x", []string{"job"}, nil); return err },
				"mark":   func() error { return s.SetMark(limited(t), *mark) },
				"watch":  func() error { return s.Watch(limited(t), func() {}) },
				"free":   func() error { return s.Release(limited(t), hold) },
			} {
				err := do()
				if err == nil || errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrHeld) {
					t.Errorf("%s: %v", name, err)
					continue
				}
				// The client keeps back the status of transactions, and the text of renewals.
				text := err.Error()
				if len(text) > 600 || strings.ContainsAny(text, "\r\n") || strings.Contains(text, "cannot be reached") ||
					!strings.Contains(text, test.want) && !strings.Contains(text, "refused a request") {
					t.Errorf("%s: %s, want words like %q", name, text, test.want)
				}
			}
		})
	}
}

// A policy that does not reach as far as the leader's key, or the keys beside it, has
// nothing to say about who holds it.
func TestPolicyThatIsTooNarrow(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	s := d.open(t, nil)
	hold := acquire(t, s)
	firings := []election.Firing{{Job: "job", At: time.Now().UTC().Truncate(time.Second)}}
	for _, key := range []string{testKey, testKey + "-claims/" + lease.ClaimKey("job", firings[0].At)} {
		d.Deny(key)
		_, _, err := s.Claim(limited(t), hold, firings, nil)
		if err == nil || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "its policy needs key_prefix") {
			t.Errorf("without a right on %s: %v", key, err)
		}
	}
	d.Deny(testKey + "/running/a")
	if err := s.SetMark(limited(t), lease.Mark{InstanceID: "a", Jobs: []string{"job"}}); err == nil {
		t.Error("a mark that was not written is none")
	}
	d.Deny()
	verdicts, _, err := s.Claim(limited(t), hold, firings, nil)
	if err != nil || verdicts[0].Outcome != election.Granted {
		t.Errorf("with all rights: %+v, %v", verdicts, err)
	}
}

// A session that ended by itself is no hindrance to the next one, also where to destroy it
// is an error.
func TestSessionIsGone(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{UnknownSession: true})
	s := d.open(t, nil)
	hold := acquire(t, s)
	d.Invalidate(d.Holder(testKey))
	if _, err := s.Renew(limited(t), hold); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renewing a session that is gone: %v, want ErrLost", err)
	}
	testcluster.Eventually(t, "the key is locked again", func() error {
		seen, err := s.Read(limited(t))
		if err == nil {
			_, err = s.Acquire(limited(t), seen.Record)
		}
		return err
	})
	if n := d.Sessions(); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
}

// The answer to the request that locks the key is lost, and much of the session's time goes
// by before that is known. What is granted then, is granted from then on.
func TestAnswerToTheLockIsLost(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{Expiry: consuldouble.Early})
	lost := make(chan struct{}, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("acquire") || len(lost) > 0 {
			d.ServeHTTP(w, r)
			return
		}
		d.ServeHTTP(httptest.NewRecorder(), r)
		lost <- struct{}{}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(proxy.Close)
	s := d.open(t, func(c *Config) { c.Address = proxy.URL })
	seen, err := s.Read(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if hold, err := s.Acquire(limited(t), seen.Record); err == nil {
		t.Fatalf("acquired without an answer: %+v", hold)
	}
	session := d.Holder(testKey)
	if session == "" {
		t.Fatal("nobody has locked the key")
	}
	<-time.After(MinTTL / 2)
	if seen, err = s.Read(limited(t)); err != nil || !seen.Record.Own {
		t.Fatalf("the record reads %+v, %v", seen.Record, err)
	}
	sent := time.Now()
	hold, err := s.Acquire(limited(t), seen.Record)
	if err != nil || d.Holder(testKey) != session {
		t.Fatalf("acquiring what it has: %+v, %v", hold, err)
	}
	<-time.After(time.Until(sent.Add(hold.Duration - 200*time.Millisecond)))
	// Unless the machine was too slow to look in time.
	if held := d.Holder(testKey); held != session && time.Since(sent) < hold.Duration {
		t.Errorf("%v after it was granted for %v, %q holds it", time.Since(sent), hold.Duration, held)
	}
	// Where the session has ended meanwhile, there is nothing to go on with.
	s.mu.Lock()
	s.trying = true
	s.mu.Unlock()
	d.Invalidate(session)
	if hold, err := s.Acquire(limited(t), seen.Record); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("acquiring with a session that is gone: %+v, %v", hold, err)
	}
}

// What an operator has in the environment for other programs decides nothing.
func TestEnvironmentIsIgnored(t *testing.T) {
	for name, value := range map[string]string{
		"CONSUL_HTTP_TOKEN": "of others", "CONSUL_HTTP_TOKEN_FILE": "/nowhere/token", "CONSUL_HTTP_ADDR": "203.0.113.1:8500",
		"CONSUL_HTTP_SSL": "true", "CONSUL_HTTP_AUTH": "user:password", "CONSUL_NAMESPACE": "theirs", "CONSUL_PARTITION": "theirs",
	} {
		t.Setenv(name, value)
	}
	d := newDouble(t, consuldouble.Options{})
	acquire(t, d.open(t, nil))
	d.RequireToken("ours")
	s := d.open(t, func(c *Config) { c.Token = func() (string, error) { return "ours", nil } })
	if _, err := s.Read(limited(t)); err != nil {
		t.Errorf("with a token: %v", err)
	}
	s = d.open(t, func(c *Config) { c.Namespace = "ours" })
	d.RequireToken("")
	if _, err := s.Read(limited(t)); err == nil || !strings.Contains(err.Error(), "Enterprise") {
		t.Errorf("with a namespace on a server that has none: %v", err)
	}
}

// The address may be that of a proxy that serves Consul below a path.
func TestAddressWithAPath(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	proxy := httptest.NewServer(http.StripPrefix("/consul", d.Server))
	t.Cleanup(proxy.Close)
	for _, address := range []string{proxy.URL + "/consul", proxy.URL + "/consul/"} {
		s := d.open(t, func(c *Config) { c.Address = address })
		hold := acquire(t, s)
		if err := s.Release(limited(t), hold); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Two thousand jobs that must not overlap, with names as long as they may be, are due at
// one instant: with their mark that is more than Consul takes at once.
func TestManyMarkedFirings(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	s := d.open(t, nil)
	hold := acquire(t, s)
	mark := &lease.Mark{InstanceID: "a", NodeName: "node-a"}
	var firings []election.Firing
	for i := range 2000 {
		firings = append(firings, election.Firing{Job: fmt.Sprintf("%0128d", i), At: time.Now().UTC().Truncate(time.Second)})
		mark.Jobs = append(mark.Jobs, firings[i].Job)
	}
	verdicts, marks, err := s.Claim(limited(t), hold, firings, mark)
	if err != nil || len(marks) != 1 || len(marks[0].Jobs) != len(firings) {
		t.Fatalf("%d marks, %v", len(marks), err)
	}
	for i, v := range verdicts {
		if v.Outcome != election.Granted {
			t.Fatalf("firing %d: %+v", i, v)
		}
	}
}
