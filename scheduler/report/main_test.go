package report

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
)

// waitLimit is how long tests wait for what must happen.
const waitLimit = 30 * time.Second

// closedPort is that of a service that nobody runs: one that was free a moment ago may be
// taken.
const closedPort = 1

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBuffer is a log that tests read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bench is a Reporter with short pauses, and its log.
type bench struct {
	*Reporter
	log *logBuffer
}

func newBench(t *testing.T, cfg Config) *bench {
	t.Helper()
	log := new(logBuffer)
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace})
	cfg.Version = "1.2.3"
	b := &bench{New(cfg), log}
	b.limits.pauses = [...]time.Duration{time.Millisecond, 2 * time.Millisecond}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		if err := b.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return b
}

// send reports and waits for the outcome.
func (b *bench) send(hooks *Hooks, report *Report) {
	b.Report(hooks, report)
	b.lanes.wait()
}

// failures returns the lines of the log about reports that were not delivered.
func (b *bench) failures() []string {
	var lines []string
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, "a report was not delivered") {
			lines = append(lines, line)
		}
	}
	return lines
}

// wantFailure expects one line that has all of the texts.
func (b *bench) wantFailure(t *testing.T, texts ...string) {
	t.Helper()
	lines := b.failures()
	if len(lines) != 1 {
		t.Fatalf("%d failures logged, want 1:\n%s", len(lines), b.log.String())
	}
	if n := b.Failed(); n != 1 {
		t.Errorf("%d failures counted", n)
	}
	for _, text := range texts {
		if !strings.Contains(lines[0], text) {
			t.Errorf("%q is missing in %s", text, lines[0])
		}
	}
}

func (b *bench) wantNoFailure(t *testing.T) {
	t.Helper()
	if text := b.log.String(); text != "" {
		t.Errorf("log: %s", text)
	}
}

func failed(job string) *Report {
	code := 3
	return &Report{
		Hook: OnFailure, Job: job, Line: "make backup", Shell: "/bin/sh", Schedule: "0 3 * * *",
		Environ:    []string{"HOSTNAME=h1", "A=b=c"},
		FailReason: "failsWhen=nonzeroReturn and retcode=3", ExitCode: &code,
		Stdout: Output{Captured: true, Text: "\x1b[32mout\x1b[0m 1\nout 2\n"}, Stderr: Output{Captured: true, Text: "err ü\n"},
		RunID: "r1", Node: "node-a", Trigger: "schedule", Attempt: 1,
		Firing: time.Date(2031, 3, 1, 3, 0, 0, 0, time.UTC), StartedAt: time.Date(2031, 3, 1, 3, 0, 0, 5e6, time.UTC), FinishedAt: time.Date(2031, 3, 1, 3, 0, 2, 5e6, time.UTC),
	}
}

func succeeded(job string) *Report {
	r := failed(job)
	code := 0
	r.Hook, r.Success, r.FailReason, r.ExitCode = OnSuccess, true, "", &code
	return r
}

func text(s string) *string { return &s }

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	a.key, der = sign(t, template, template, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

// sign makes a key and a certificate for it, self-signed without a parent key.
func sign(t *testing.T, template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

// server returns the TLS configuration of a server called localhost and 127.0.0.1.
func (a *authority) server(t *testing.T) *tls.Config {
	return a.named(t, "localhost", net.IPv4(127, 0, 0, 1))
}

func (a *authority) named(t *testing.T, name string, ips ...net.IP) *tls.Config {
	t.Helper()
	key, der := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IPAddresses: ips,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, a.key)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
