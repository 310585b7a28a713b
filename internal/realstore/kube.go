package realstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// APIServer is a kube-apiserver with an etcd of its own, with RBAC, tokens and client
// certificates.
type APIServer struct {
	URL string // https
	// CA is the authority of its certificate and of its clients', and CAFile is where
	// its certificate lies.
	CA     *pki.CA
	CAFile string

	certificates *Certificates
	etcd, server *process
	client       *http.Client
}

// adminToken is the harness's own; the server is open to this machine alone, for as
// long as the tests run.
const adminToken = "harness"

// StartAPIServer starts a server for one test, which may kill it. It ends with the test;
// its log is shown if the test failed. A test that does not harm the server takes the one
// of a SharedAPIServer.
func StartAPIServer(tb testing.TB) *APIServer {
	tb.Helper()
	s, err := newAPIServer(tb, tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.close()
		if tb.Failed() {
			tb.Logf("log of kube-apiserver:\n%s", s.server.logTail(100))
		}
	})
	s.Start(tb)
	s.AwaitReady(tb)
	return s
}

// SharedAPIServer is one server for all tests of a package. The zero value starts it for
// the first test that asks; TestMain closes it.
type SharedAPIServer struct {
	mu     sync.Mutex
	server *APIServer
	dir    string
	err    error
}

// Get returns the server.
func (s *SharedAPIServer) Get(tb testing.TB) *APIServer {
	tb.Helper()
	Require(tb)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		s.server, s.err = s.start(tb)
	}
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.server
}

func (s *SharedAPIServer) start(tb testing.TB) (*APIServer, error) {
	tb.Helper()
	var err error
	if s.dir, err = os.MkdirTemp("", "yacron2-kube-"); err != nil {
		return nil, err
	}
	server, err := newAPIServer(tb, s.dir)
	if err != nil {
		return nil, err
	}
	if err := server.start(tb.Context()); err != nil {
		server.close()
		return nil, err
	}
	return server, nil
}

// Close ends the server, if there is one.
func (s *SharedAPIServer) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		s.server.close()
	}
	return os.RemoveAll(s.dir)
}

// newAPIServer prepares a server whose files lie in dir, and starts nothing.
func newAPIServer(tb testing.TB, dir string) (*APIServer, error) {
	tb.Helper()
	etcd, kube := built(tb, "etcd"), built(tb, "kube-apiserver")
	ports := testcluster.FreePorts(tb, 3)
	c, err := newCertificates(dir)
	if err != nil {
		return nil, err
	}
	pair, err := c.issuePair("kube-apiserver")
	if err != nil {
		return nil, err
	}
	files, err := c.writeFiles(pair)
	if err != nil {
		return nil, err
	}
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(adminToken+",harness,1,system:masters\n"), 0o600); err != nil {
		return nil, err
	}
	client, peer, url := "http://"+loopback(ports[0]), "http://"+loopback(ports[1]), "https://"+loopback(ports[2])
	s := &APIServer{URL: url, CA: c.CA, CAFile: files.CA, certificates: c}
	s.etcd = newProcess("etcd", dir, etcd, "--data-dir", filepath.Join(dir, "data"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	_, port, _ := strings.Cut(loopback(ports[2]), ":")
	s.server = newProcess("kube-apiserver", dir, kube, "--etcd-servers="+client,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+port,
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC", "--token-auth-file="+tokens, "--client-ca-file="+files.CA,
		"--tls-cert-file="+files.Cert, "--tls-private-key-file="+files.Key,
		"--service-account-issuer="+url+"/", "--service-account-key-file="+files.Cert,
		"--service-account-signing-key-file="+files.Key,
		// A namespace has no default account here: nothing would make one.
		"--disable-admission-plugins=ServiceAccount")
	s.client = &http.Client{Timeout: callLimit,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.CA.Pool()}, DisableKeepAlives: true}}
	return s, nil
}

// start starts both programs and waits until the server can be used.
func (s *APIServer) start(ctx context.Context) error {
	if err := errors.Join(s.etcd.start(), s.server.start()); err != nil {
		return err
	}
	return s.awaitReady(ctx)
}

func (s *APIServer) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		code, answer, err := s.request(ctx, adminToken, http.MethodGet, "/readyz", nil)
		if err == nil && code == http.StatusOK {
			return nil
		}
		if _, dead := s.server.current(); dead != nil {
			return dead
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %d %s %w\n%s", code, answer, err, s.server.logTail(20))
		}
	}
}

func (s *APIServer) close() {
	s.server.kill()
	s.etcd.kill()
}

// Start starts a server that was killed, on the same data, and does not wait.
func (s *APIServer) Start(tb testing.TB) {
	tb.Helper()
	if _, err := s.etcd.current(); err != nil {
		if err := s.etcd.start(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.server.start(); err != nil {
		tb.Fatal(err)
	}
}

// AwaitReady waits until the server can be used, as after Start.
func (s *APIServer) AwaitReady(tb testing.TB) {
	tb.Helper()
	if err := s.awaitReady(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// Kill ends the server by SIGKILL; its etcd stays.
func (s *APIServer) Kill() { s.server.kill() }

// Pause freezes the server: it keeps its connections and answers nothing.
func (s *APIServer) Pause(tb testing.TB) { tb.Helper(); s.must(tb, s.server.pause()) }

// Resume ends a Pause.
func (s *APIServer) Resume(tb testing.TB) { tb.Helper(); s.must(tb, s.server.resume()) }

func (s *APIServer) must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// ClientCertificate issues a certificate whose common name is the user's name.
func (s *APIServer) ClientCertificate(tb testing.TB, user string) Files {
	tb.Helper()
	return s.certificates.Client(tb, user)
}

// Request sends an object, nil for none, as the owner of a token ("" for nobody) and
// returns the answer.
func (s *APIServer) Request(tb testing.TB, token, method, path string, object any) (code int, answer []byte) {
	tb.Helper()
	code, answer, err := s.request(tb.Context(), token, method, path, object)
	if err != nil {
		tb.Fatal(err)
	}
	return code, answer
}

// Admin sends an object as one who may do everything. The server must agree.
func (s *APIServer) Admin(tb testing.TB, method, path string, object any) []byte {
	tb.Helper()
	code, answer := s.Request(tb, adminToken, method, path, object)
	if code >= http.StatusMultipleChoices {
		tb.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	return answer
}

func (s *APIServer) request(ctx context.Context, token, method, path string, object any) (int, []byte, error) {
	var body io.Reader
	if object != nil {
		data, err := json.Marshal(object)
		if err != nil {
			return 0, nil, err
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, data, err
}
