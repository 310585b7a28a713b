package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/smtptest"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// failing is a job that fails once, when the agent starts, and reports that.
func failing(name, reporter string) testcluster.Job {
	return testcluster.Job{Name: name, Schedule: "@reboot", Command: "exit 3", More: "onFailure:\n  report:\n    " + reporter + "\n"}
}

// awaitReport waits for the log line of a report of the job that could not be
// delivered. There must be one.
func (a *alone) awaitReport(job, reporter string, says ...string) {
	a.t.Helper()
	line := regexp.MustCompile(`a report was not delivered: job=` + job + ` .*reporter=` + reporter + ` .*`)
	testcluster.EventuallyWithin(a.t, time.Minute, "the failure of "+job+"'s report", func() error {
		lines := line.FindAllString(a.Log(), -1)
		if len(lines) != 1 {
			return fmt.Errorf("logged %d times", len(lines))
		}
		for _, want := range says {
			if !strings.Contains(lines[0], want) {
				a.t.Errorf("%s: no %q in %s", job, want, lines[0])
			}
		}
		return nil
	})
}

// Mail servers of every kind: what can't be delivered safely isn't, and says why, and no
// job waits for any of it.
func TestMailsOfJobs(t *testing.T) {
	t.Parallel()
	selfSigned := httptest.NewTLSServer(nil)
	defer selfSigned.Close()
	users := map[string]string{"u": "hunter2-visible"}
	encrypted := &smtptest.Server{TLS: selfSigned.TLS, Auth: "PLAIN LOGIN", Users: users}
	plain := &smtptest.Server{Auth: "PLAIN LOGIN", Users: users}
	silent := &smtptest.Server{Silent: true}
	mail := func(port int, more string) string {
		return fmt.Sprintf("mail: {from: cron@example.com, to: ops@example.com, smtpHost: 127.0.0.1, smtpPort: %d%s}", port, more)
	}
	const login = ", username: u, password: {value: hunter2-visible}"
	encryptedPort, plainPort, silentPort := encrypted.Start(t), plain.Start(t), silent.Start(t)
	a := newAlone(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		return []testcluster.Job{
			failing("self-signed-refused", mail(encryptedPort, ", starttls: true")),
			failing("self-signed-allowed", mail(encryptedPort, ", starttls: true, validate_certs: false"+login)),
			failing("not-offered", mail(plainPort, ", starttls: true"+login)),
			failing("login-in-the-clear", mail(plainPort, login)),
			failing("plain-relay", mail(plainPort, "")),
			failing("silent", mail(silentPort, "")),
			failing("refused", mail(testcluster.FreePorts(t, 1)[0], "")),
			failing("wrong-password", mail(encryptedPort, ", starttls: true, validate_certs: false, username: u, password: {value: hunter3-visible}")),
			{Name: "tick", Command: j.Write()},
		}
	}})
	a.begin()
	from := testcluster.NextSecond()
	a.awaitReport("self-signed-refused", "mail", "certificate")
	a.awaitReport("not-offered", "mail", "STARTTLS")
	a.awaitReport("login-in-the-clear", "mail", "not encrypted")
	a.awaitReport("refused", "mail", "connection refused", "attempts=3")
	a.awaitReport("wrong-password", "mail", "535")
	a.awaitReport("silent", "mail", "timeout")
	to := time.Now().Add(-time.Second).Truncate(time.Second)
	testcluster.Eventually(t, "the firings meanwhile", ranEach(a.cluster, "tick", from, int(to.Sub(from).Seconds())+1, 1))

	if mails := encrypted.Mails(); len(mails) != 1 || !mails[0].TLS || mails[0].User != "u" || !strings.Contains(mails[0].Data, "Subject: Job self-signed-allowed failed") {
		t.Errorf("over TLS came %+v", mails)
	}
	if mails := plain.Mails(); len(mails) != 1 || !strings.Contains(mails[0].Data, "Subject: Job plain-relay failed") {
		t.Errorf("in the clear came %+v", mails)
	}
	for _, line := range slices.Concat(encrypted.Commands(), plain.Commands()) {
		if strings.Contains(line, "AUTH") && !strings.HasPrefix(line, "TLS ") {
			t.Errorf("a login in the clear: %s", line)
		}
	}
	for _, s := range []*smtptest.Server{encrypted, plain, silent} {
		s.AwaitClosed(t)
	}
	if strings.Contains(a.Log(), "-visible") {
		t.Error("a password is in the log")
	}
}

// hook is a webhook server that behaves in some way, and counts.
type hook struct {
	mu sync.Mutex
	at []time.Time
}

func (h *hook) start(t *testing.T, answer http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.mu.Lock()
		h.at = append(h.at, time.Now())
		h.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// requests returns when requests came.
func (h *hook) requests() []time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.at)
}

// Receivers that fail: tried again only where nothing can have arrived, with growing
// pauses, named in the log by job and reporter and never by their address.
func TestWebhooksOfJobs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	answers := map[string]http.HandlerFunc{
		"ok":     func(http.ResponseWriter, *http.Request) {},
		"err500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) },
		"err429": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"err404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"hang":   func(http.ResponseWriter, *http.Request) { <-release },
		"reset": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0) // a reset instead of an end
			_ = conn.Close()
		},
	}
	const secret = "/services/T000/B000/secretsecret"
	hooks := map[string]*hook{}
	a := newAlone(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		jobs := []testcluster.Job{
			failing("closed", fmt.Sprintf("webhook: {url: {value: \"http://127.0.0.1:%d%s\"}}", testcluster.FreePorts(t, 1)[0], secret)),
			failing("shell-hangs", "shell: {command: \"exec sleep 3600\"}"),
			{Name: "tick", Command: j.Write()},
		}
		for name, answer := range answers {
			h := &hook{}
			hooks[name] = h
			jobs = append(jobs, failing(name, "webhook: {url: {value: \""+h.start(t, answer)+secret+"\"}, timeout: 2}"))
		}
		return jobs
	}})
	a.begin()
	from := testcluster.NextSecond()
	for _, job := range []string{"ok", "err500", "hang", "shell-hangs"} {
		if runs := a.awaitRuns(job, 1); runs[0].Outcome != api.OutcomeFailure {
			t.Errorf("%s: %+v", job, runs[0])
		}
	}
	a.awaitReport("err500", "webhook", "500", "broken", "attempts=3")
	a.awaitReport("err429", "webhook", "429", "attempts=3")
	a.awaitReport("err404", "webhook", "404")
	a.awaitReport("hang", "webhook")
	a.awaitReport("reset", "webhook")
	a.awaitReport("closed", "webhook", "attempts=3")
	to := time.Now().Add(-time.Second).Truncate(time.Second)
	testcluster.Eventually(t, "the firings meanwhile", ranEach(a.cluster, "tick", from, int(to.Sub(from).Seconds())+1, 1))

	for name, want := range map[string]int{"ok": 1, "err500": 3, "err429": 3, "err404": 1, "hang": 1, "reset": 1} {
		if got := hooks[name].requests(); len(got) != want {
			t.Errorf("%s got %d requests, want %d", name, len(got), want)
		}
	}
	if at := hooks["err500"].requests(); len(at) == 3 && at[2].Sub(at[1]) <= at[1].Sub(at[0]) {
		t.Errorf("pauses of %v and %v do not grow", at[1].Sub(at[0]), at[2].Sub(at[1]))
	}
	for i, at := 1, hooks["err429"].requests(); i < len(at); i++ {
		if pause := at[i].Sub(at[i-1]); pause < 2*time.Second {
			t.Errorf("asked to wait 2s, a request came after %v", pause)
		}
	}
	if strings.Contains(a.Log(), "secretsecret") {
		t.Error("the secret part of an address is in the log")
	}
	a.Kill() // the hanging command would be waited for
}
