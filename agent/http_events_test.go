package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// errEnough ends a stream that a test has seen enough of.
var errEnough = errors.New("enough")

// follower collects the events of an agent.
type follower struct {
	events chan api.Event
	ended  chan error
	cancel context.CancelFunc
}

// follow opens a stream and returns when it has begun: a stream that only has its place
// may miss what happens now.
func (a *testAgent) follow(filter api.EventFilter) *follower {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	f := &follower{events: make(chan api.Event, 1000), ended: make(chan error, 1), cancel: cancel}
	before := a.begun.Load()
	go func() {
		f.ended <- a.client.Events(ctx, filter, func(e api.Event) error {
			f.events <- e
			return nil
		})
	}()
	eventually(a.t, "the stream has begun", func() bool { return a.begun.Load() > before })
	a.t.Cleanup(func() {
		cancel()
		<-f.ended
	})
	return f
}

func (a *testAgent) slotsOpen() int64 { return a.streams.open.Load() }

// await returns the next event of a kind.
func (a *testAgent) await(f *follower, kind string) api.Event {
	a.t.Helper()
	for {
		select {
		case e := <-f.events:
			if e.Kind == kind {
				return e
			}
		case err := <-f.ended:
			f.ended <- err
			a.t.Fatalf("the stream ended: %v", err)
		case <-a.t.Context().Done():
			a.t.Fatal("no such event")
		}
	}
}

func TestEventsTellOfRuns(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "")
	ctx := t.Context()
	all, ofOne := a.follow(api.EventFilter{}), a.follow(api.EventFilter{Job: "no/such program", Kinds: []string{api.EventRunFinished}})
	if err := a.client.Start(ctx, "daily job"); err != nil {
		t.Fatal(err)
	}
	started := a.await(all, api.EventRunStarted)
	if started.Job != "daily job" || started.Node != "node-a" || started.RunID == "" || started.PID == 0 || started.Trigger != "manual" || started.Attempt != 1 || started.At.IsZero() {
		t.Errorf("started: %+v", started)
	}
	finished := a.await(all, api.EventRunFinished)
	if finished.RunID != started.RunID || finished.Run == nil || finished.Run.Outcome != api.OutcomeSuccess || finished.Permanent {
		t.Errorf("finished: %+v", finished)
	}
	if err := a.client.Start(ctx, "no/such program"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*follower{all, ofOne} {
		e := a.await(f, api.EventRunFinished)
		if e.Job != "no/such program" || !e.Permanent || e.Run.Outcome != api.OutcomeFailure || *e.Run.ExitCode != 127 {
			t.Errorf("finished: %+v", e)
		}
	}

	// A reader that was away gets what it missed, and only that.
	again := a.follow(api.EventFilter{After: started.ID, Kinds: []string{api.EventRunFinished, api.EventLost}})
	if e := a.await(again, api.EventRunFinished); e.ID != finished.ID || e.Job != "daily job" {
		t.Errorf("going on after %s: %+v", started.ID, e)
	}
	if e := a.await(again, api.EventRunFinished); e.Job != "no/such program" {
		t.Errorf("then: %+v", e)
	}
	stranger := a.follow(api.EventFilter{After: "another-7"})
	if e := a.await(stranger, api.EventLost); *e.Lost != 0 {
		t.Errorf("after the event of another process: %+v", e)
	}
}

func TestEventsTellOfReloadsAndMisses(t *testing.T) {
	a := startAgent(t, someJobs, "")
	f := a.follow(api.EventFilter{})
	// The file watch may be faster, and tell of it before.
	asked := func() *api.Reload {
		for {
			if e := a.await(f, api.EventReload); e.Reload.Trigger == "signal" {
				return e.Reload
			}
		}
	}
	a.write("jobs.yaml", "jobs: 5\n")
	if err := a.Reload(t.Context()); err == nil {
		t.Fatal("a broken file was taken")
	}
	if r := asked(); r.State != api.ConfigFailed || r.Errors == 0 || r.Jobs != 6 {
		t.Errorf("a failed reload: %+v", r)
	}
	a.write("jobs.yaml", "jobs:\n  - name: only\n    command: 'true'\n    schedule: '@daily'\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := asked(); r.State != api.ConfigLoaded || r.Jobs != 1 || !strings.HasPrefix(r.JobSetID, "v1:") {
		t.Errorf("a reload: %+v", r)
	}
}

func TestEventsTellOfTheCluster(t *testing.T) {
	agents := startCluster(t, 3, someJobs, "")
	leader := awaitLeader(t, agents)
	var watching, leading *testAgent
	for _, a := range agents {
		if a.node == leader {
			leading = a
		} else {
			watching = a
		}
	}
	f := watching.follow(api.EventFilter{Kinds: []string{api.EventRole, api.EventMember}})
	if err := leading.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The cluster may pass through a moment without a leader.
	for {
		e := watching.await(f, api.EventRole)
		if !e.Role.Enabled || e.Role.Conflict {
			t.Fatalf("role: %+v", e.Role)
		}
		if e.Role.Leader != "" && string(e.Role.Leader) != leader {
			if e.Role.IsLeader != (string(e.Role.Leader) == watching.node) || !e.Role.Quorate {
				t.Errorf("role: %+v at %s", e.Role, watching.node)
			}
			break
		}
	}
	gone := watching.follow(api.EventFilter{Kinds: []string{api.EventMember}, After: "x-0"})
	status := api.PeerAgreed
	for status == api.PeerAgreed {
		select {
		case e := <-f.events:
			if e.Kind == api.EventMember && e.Member.NodeName == api.NullString(leader) {
				status = e.Member.Status
			}
		case e := <-gone.events:
			if e.Kind == api.EventMember && e.Member.NodeName == api.NullString(leader) {
				status = e.Member.Status
			}
		case <-t.Context().Done():
			t.Fatal("nobody tells that the leader is gone")
		}
	}
	if status != api.PeerUnreachable {
		t.Errorf("the stopped node is %s", status)
	}
}

func TestEventsRefuse(t *testing.T) {
	a := startAgent(t, someJobs, "")
	for _, query := range []string{"kind=nonsense", "kind=", "kind=role,", "kind=role&kind=x"} {
		if resp, body := a.request("GET", "/events?"+query, nil); resp.StatusCode != 400 || !strings.Contains(body, "the kinds are run-started") {
			t.Errorf("%s: %d %q", query, resp.StatusCode, body)
		}
	}
	if resp, body := a.request("HEAD", "/events", nil); resp.StatusCode != 200 || body != "" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", resp.StatusCode, resp.Header)
	}
	eventually(t, "its place is free again", func() bool { return a.slotsOpen() == 0 })
}

// Who comes late can begin with what happened last.
func TestEventsBeginWithTheLast(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "")
	all := a.follow(api.EventFilter{})
	for range 3 {
		if err := a.client.Start(t.Context(), "daily job"); err != nil {
			t.Fatal(err)
		}
		a.await(all, api.EventRunFinished)
	}
	late := a.follow(api.EventFilter{Last: 2, Kinds: []string{api.EventRunFinished}})
	second, third := a.await(late, api.EventRunFinished), a.await(late, api.EventRunFinished)
	if err := a.client.Start(t.Context(), "daily job"); err != nil {
		t.Fatal(err)
	}
	fourth := a.await(late, api.EventRunFinished)
	runs, err := a.client.Runs(t.Context(), "daily job")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, run := range runs.Runs[1:] {
		got = append(got, run.ID)
	}
	if want := []string{second.RunID, third.RunID, fourth.RunID}; !slices.Equal(got, want) {
		t.Errorf("told were %q, the runs are %q", want, got)
	}
	for _, last := range []string{"", "-1", "4097", "many"} {
		if resp, body := a.request("GET", "/events?last="+last, nil); resp.StatusCode != 400 || !strings.Contains(body, "from 0 to 4096") {
			t.Errorf("last=%s: %d %q", last, resp.StatusCode, body)
		}
	}
}

// A full house refuses streams and nothing else.
func TestStreamsAreBounded(t *testing.T) {
	a := startAgent(t, someJobs, "")
	a.streams.limit = 2
	for range 2 {
		a.follow(api.EventFilter{})
	}
	for _, path := range []string{"/events", "/jobs/long/logs"} {
		resp, body := a.request("GET", path, nil)
		if resp.StatusCode != http.StatusServiceUnavailable || body != "too many event streams are open" || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %q", path, resp.StatusCode, body)
		}
	}
	if _, err := a.client.Jobs(t.Context()); err != nil {
		t.Error(err)
	}
}

// headed is an answer that does something when its head is sent, and tells what follows.
type headed struct {
	*httptest.ResponseRecorder
	do   func()
	told chan string
}

func (w *headed) WriteHeader(status int) {
	w.ResponseRecorder.WriteHeader(status)
	w.do()
}

func (w *headed) Write(p []byte) (int, error) {
	w.told <- string(p)
	return len(p), nil
}

// Whoever has the head of a stream may cause something at once: that is told.
func TestStreamsMissNothingAfterTheirHeads(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "")
	for path, do := range map[string]func(){
		"/events": func() {
			a.happenings.list.add(told{kind: api.EventRole, wire: &wireValue{value: api.Event{Kind: api.EventRole, At: api.At(time.Now()), Node: "at-the-head"}}})
		},
		"/monitor": func() { a.logs.root.Info("at-the-head") },
	} {
		ctx, leave := context.WithCancel(t.Context())
		w := &headed{httptest.NewRecorder(), do, make(chan string, 10)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
			r.Host = "localhost"
			a.web.guard.Load().ServeHTTP(w, r)
		}()
		select {
		case text := <-w.told:
			if !strings.Contains(text, "at-the-head") {
				t.Errorf("%s tells %q", path, text)
			}
		case <-ended:
			t.Errorf("%s has ended: %d", path, w.Code)
		}
		leave()
		<-ended
	}
}

func TestEventStreamOnTheWire(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "  headers: {X-Extra: yes, cache-control: no-store, Content-Type: text/evil}\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := a.open(ctx, "/events")
	defer func() { _ = resp.Body.Close() }()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Extra": "yes", "Content-Encoding": "identity", "Content-Length": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := a.client.Start(t.Context(), "daily job"); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(resp.Body)
	var lines []string
	for len(lines) < 4 && scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "id: ") || lines[1] != "event: run-started" || !strings.HasPrefix(lines[2], `data: {"kind":"run-started","at":"`) || lines[3] != "" {
		t.Errorf("got %q", lines)
	}
}

// A reload leaves open streams alone, unless other tokens are in effect: then whoever
// has one of the old ones is out.
func TestStreamsOutliveReloads(t *testing.T) {
	const web = "  tokens:\n    - {name: one, scope: operate, value: secret}\n"
	a := startAgent(t, someJobs, web)
	f := a.follow(api.EventFilter{Kinds: []string{api.EventReload}})
	base := "web:\n  listen:\n    - unix://" + a.socket + "\n"
	a.write("web.yaml", base+"  headers: {X-Extra: yes}\n"+web)
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.await(f, api.EventReload)
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.await(f, api.EventReload)

	a.write("web.yaml", base+strings.Replace(web, "value: secret", "value: another", 1))
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-f.ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %v", err)
	}
	f.ended <- nil
	if err := a.client.Events(t.Context(), api.EventFilter{}, func(api.Event) error { return nil }); api.StatusOf(err) != 401 {
		t.Errorf("the old token: %v", err)
	}
}
