package realstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
)

// HTTPProxy is a Proxy that also knows the requests, so that it can count them and
// answer some in the store's place. Behind TLS it shows a certificate of its own, and
// takes no client's: tokens pass.
type HTTPProxy struct {
	*Proxy

	forward http.Handler

	mu       sync.Mutex // guards what follows
	fault    Fault
	requests map[string]int
}

// Fault answers a request in the store's place and returns true, or leaves it to the
// store. What it does for longer it ends with the request's context.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// NewHTTPProxy puts a proxy in front of the store at a URL. For https, ca is the authority
// of both certificates, the store's and the proxy's own.
func NewHTTPProxy(tb testing.TB, store string, ca *pki.CA) *HTTPProxy {
	tb.Helper()
	target, err := url.Parse(store)
	if err != nil {
		tb.Fatal(err)
	}
	transport := &http.Transport{ForceAttemptHTTP2: true}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &HTTPProxy{requests: map[string]int{}}
	server := &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: callLimit}
	if target.Scheme == "https" {
		transport.TLSClientConfig = &tls.Config{RootCAs: ca.Pool()}
		pair, err := ca.Issue(pki.CertOptions{CommonName: "proxy", IPs: []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)})
		if err != nil {
			tb.Fatal(err)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		ErrorLog:      server.ErrorLog,
		FlushInterval: -1, // a watch is told at once
		// The client sees a connection that broke, as it would without the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if server.TLSConfig != nil {
			_ = server.ServeTLS(l, "", "") // ends by Close
		} else {
			_ = server.Serve(l) // likewise
		}
	})
	tb.Cleanup(func() {
		server.Close()
		wg.Wait()
		transport.CloseIdleConnections()
	})
	p.Proxy = NewProxy(tb, target.Scheme+"://"+l.Addr().String())
	return p
}

// ServeHTTP implements http.Handler.
func (p *HTTPProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests[r.Method]++
	fault := p.fault
	p.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	p.forward.ServeHTTP(w, r)
}

// Requests returns how many requests have come, by method, those answered in the store's
// place too.
func (p *HTTPProxy) Requests() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests := make(map[string]int, len(p.requests))
	for method, n := range p.requests {
		requests[method] = n
	}
	return requests
}

// SetFault lets a fault look at each request from now on; nil ends it.
func (p *HTTPProxy) SetFault(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Answer returns the fault that answers n requests, those that match says, with a status
// and a body; all of them if n is negative. Later ones go to the store.
func Answer(n int, match func(*http.Request) bool, status int, body string) Fault {
	left := counter(n)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !match(r) || !left() {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have gone
		return true
	}
}

// Conflicts returns the fault by which n writes of objects are refused as a Kubernetes
// API server refuses those of a stale version, although theirs is not.
func Conflicts(n int) Fault {
	return Answer(n, func(r *http.Request) bool { return r.Method == http.MethodPut || r.Method == http.MethodPatch },
		http.StatusConflict, kubernetesStatus(http.StatusConflict, "Conflict",
			"the object has been modified; please apply your changes to the latest version and try again"))
}

// kubernetesStatus is the body of a refusal.
func kubernetesStatus(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, reason, code)
}

// Stall returns the fault that keeps every request for a while before the store sees
// it. A request whose client gives up meanwhile never gets there.
func Stall(d time.Duration) Fault {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		// That a client gives up is noticed only once its request was read.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// LoseAnswers returns the fault that lets n requests, those that match says, take effect
// in the store, and breaks the connection instead of answering.
func (p *HTTPProxy) LoseAnswers(n int, match func(*http.Request) bool) Fault {
	left := counter(n)
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if !match(r) || !left() {
			return false
		}
		p.forward.ServeHTTP(&discard{header: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
		panic(http.ErrAbortHandler)
	}
}

// discard takes an answer that nobody gets.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// counter returns a function that returns true n times, for ever if n is negative.
func counter(n int) func() bool {
	var mu sync.Mutex
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 {
			return false
		}
		n--
		return true
	}
}
