package uitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// proxy stands between a page and its agent. It can refuse a path, and hold an answer back
// after it was given.
type proxy struct {
	URL string

	mu      sync.Mutex
	refused string
	held    string
	got     chan struct{} // closed when the held answer is there
	release chan struct{}
}

// behind puts a proxy before an agent.
func behind(t *testing.T, n *testcluster.Node) *proxy {
	t.Helper()
	target, err := url.Parse(n.API())
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	s := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1, // events at once
		ModifyResponse: p.hold,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { /* the agent or the page is gone */ },
	})
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.refuses(r.URL.Path) {
			http.Error(w, "upstream is tired", http.StatusBadGateway)
			return
		}
		inner.ServeHTTP(w, r)
	})
	p.URL = s.URL
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return p
}

func (p *proxy) refuses(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return path == p.refused
}

// refuse answers a path with an error from now on, or none if it is "".
func (p *proxy) refuse(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = path
}

// holdNext keeps the next answer to a path from the page. The first function that it
// returns waits until the agent has given it, the second one passes it on.
func (p *proxy) holdNext(path string) (given, pass func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.got, p.release = path, make(chan struct{}), make(chan struct{})
	got, release := p.got, p.release
	return func() { <-got }, sync.OnceFunc(func() { close(release) })
}

// hold waits with an answer that is to be held back.
func (p *proxy) hold(resp *http.Response) error {
	p.mu.Lock()
	if resp.Request.URL.Path != p.held {
		p.mu.Unlock()
		return nil
	}
	p.held = ""
	got, release := p.got, p.release
	p.mu.Unlock()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	close(got)
	select {
	case <-release:
	case <-resp.Request.Context().Done():
	}
	return nil
}

// An answer that comes late changes nothing that is known better by then.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	n := alone(t, testcluster.Job{Name: "job", Schedule: never, Command: g.wait()})
	awaitAPI(t, n)
	x := behind(t, n)
	p := browser.Open(t, browser.Options{})
	p.Visit(x.URL + "/")
	p.SeeText(row("job"), "pending")
	const answers = `performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/jobs') && e.responseEnd > 0).length`
	before := browser.Eval[int](p, answers)
	given, pass := x.holdNext("/jobs")
	defer pass()
	p.Press("g")
	given()
	p.Click(button(row("job"), "run-button"))
	p.SeeText(row("job"), "running")
	pass()
	p.Await("the late answer", fmt.Sprintf("%s > %d", answers, before))
	browser.Eval[bool](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))") // it is drawn
	if got := p.Text(row("job")); !strings.Contains(got, "Running") {
		t.Errorf("the late answer is shown: %q", got)
	}
	g.open(t)
	p.SeeText(row("job"), "ok")
}

// What the agent does not tell of its cluster is not shown as healthy, although all else
// comes.
func TestClusterNotTold(t *testing.T) {
	t.Parallel()
	c := three(t, testcluster.Job{Name: "job", Schedule: never, Command: "true", Policy: "Leader"})
	x := behind(t, c.Nodes[0])
	p := browser.Open(t, browser.Options{})
	p.Visit(x.URL + "/")
	p.SeeText(panel, "quorum ok")
	p.Gone(banner("cluster-stale"))
	p.Expect(`502`)
	x.refuse("/cluster")
	p.SeeText(banner("cluster-stale"), "upstream is tired")
	p.Await("the panel is marked", "one("+browser.Quote(panel)+").matches('.old')")
	p.Press("w")
	p.SeeText(browser.TestID("wallboard"), "STALE DATA")
	p.Press("\x1b")
	x.refuse("")
	p.Gone(banner("cluster-stale"))
	p.Await("the panel is good", "!one("+browser.Quote(panel)+").matches('.old')")
}
