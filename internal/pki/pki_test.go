package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newCA(t *testing.T, name string) *CA {
	t.Helper()
	ca, err := NewCA(CAOptions{CommonName: name, NotBefore: epoch, NotAfter: epoch.AddDate(10, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t *testing.T, ca *CA, o CertOptions) *Pair {
	t.Helper()
	if o.NotBefore.IsZero() {
		o.NotBefore, o.NotAfter = epoch, epoch.AddDate(1, 0, 0)
	}
	p, err := ca.Issue(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVerify(t *testing.T) {
	ca, other := newCA(t, "ours"), newCA(t, "theirs")
	names := CertOptions{CommonName: "a", DNSNames: []string{"a.example"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	good := issue(t, ca, names)
	expired := names
	expired.NotBefore, expired.NotAfter = epoch.AddDate(-1, 0, 0), epoch.AddDate(0, 0, -1)

	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	for _, test := range []struct {
		name   string
		pair   *Pair
		ca     *CA
		host   string
		now    time.Time
		usage  x509.ExtKeyUsage
		target any // nil: valid
	}{
		{"server by name", good, ca, "a.example", epoch, x509.ExtKeyUsageServerAuth, nil},
		{"client", good, ca, "", epoch, x509.ExtKeyUsageClientAuth, nil},
		{"by IPv4", good, ca, "127.0.0.1", epoch, x509.ExtKeyUsageServerAuth, nil},
		{"by IPv6", good, ca, "::1", epoch, x509.ExtKeyUsageServerAuth, nil},
		{"common name does not count", good, ca, "a", epoch, x509.ExtKeyUsageServerAuth, &hostname},
		{"other name", good, ca, "b.example", epoch, x509.ExtKeyUsageServerAuth, &hostname},
		{"other authority", good, other, "a.example", epoch, x509.ExtKeyUsageServerAuth, &authority},
		{"expired", issue(t, ca, expired), ca, "a.example", epoch, x509.ExtKeyUsageServerAuth, &invalid},
		{"not yet valid", good, ca, "a.example", epoch.Add(-time.Second), x509.ExtKeyUsageServerAuth, &invalid},
		{"other usage", good, ca, "a.example", epoch, x509.ExtKeyUsageCodeSigning, &invalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.pair.Certificate.Verify(x509.VerifyOptions{
				Roots: test.ca.Pool(), DNSName: test.host, CurrentTime: test.now,
				KeyUsages: []x509.ExtKeyUsage{test.usage},
			})
			switch {
			case test.target == nil && err != nil:
				t.Fatalf("rejected: %v", err)
			case test.target != nil && !errors.As(err, test.target):
				t.Fatalf("got error %v, want a %T", err, test.target)
			}
		})
	}
}

// A leaf must not be able to act as an authority, or one node could speak for all.
func TestLeafCanNotSign(t *testing.T) {
	ca := newCA(t, "ours")
	leaf := issue(t, ca, CertOptions{CommonName: "a", DNSNames: []string{"a"}})
	forged := issue(t, &CA{Pair: *leaf}, CertOptions{CommonName: "b", DNSNames: []string{"b"}})
	between := x509.NewCertPool()
	between.AddCert(leaf.Certificate)
	if _, err := forged.Certificate.Verify(x509.VerifyOptions{Roots: ca.Pool(), Intermediates: between, CurrentTime: epoch}); err == nil {
		t.Fatal("a certificate signed by a leaf passed")
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "a.pem"), filepath.Join(dir, "a-key.pem")
	if err := leaf.Write(certFile, keyFile, false); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCA(certFile, keyFile); !errors.Is(err, ErrNotCA) {
		t.Fatalf("loading a leaf as an authority: %v, want ErrNotCA", err)
	}
}

func TestKeysAndSerials(t *testing.T) {
	ca := newCA(t, "ours")
	seen := map[string]bool{ca.Certificate.SerialNumber.String(): true}
	for range 8 {
		p := issue(t, ca, CertOptions{CommonName: "a"})
		if serial := p.Certificate.SerialNumber.String(); seen[serial] {
			t.Fatalf("serial %s given twice", serial)
		} else {
			seen[serial] = true
		}
		if key, ok := p.Key.(*ecdsa.PrivateKey); !ok || key.Curve != elliptic.P256() {
			t.Fatalf("key is %T, want ECDSA P-256", p.Key)
		}
	}
}

func TestMutualTLS(t *testing.T) {
	now := time.Now()
	ca, err := NewCA(CAOptions{CommonName: "ours", NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	cert := func(name string) tls.Certificate {
		return issue(t, ca, CertOptions{CommonName: name, DNSNames: []string{name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}).TLS()
	}
	clientEnd, serverEnd := net.Pipe()
	defer clientEnd.Close()
	defer serverEnd.Close()
	server := tls.Server(serverEnd, &tls.Config{
		Certificates: []tls.Certificate{cert("server")}, ClientCAs: ca.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	})
	client := tls.Client(clientEnd, &tls.Config{
		Certificates: []tls.Certificate{cert("client")}, RootCAs: ca.Pool(), ServerName: "server", MinVersion: tls.VersionTLS13,
	})
	served := make(chan error, 1)
	go func() {
		err := server.Handshake()
		if err == nil {
			_, err = server.Write([]byte("x"))
		}
		served <- err
	}()
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if got := server.ConnectionState().PeerCertificates[0].Subject.CommonName; got != "client" {
		t.Fatalf("the server saw %q", got)
	}
}

func TestWriteAndLoad(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem")
	first := newCA(t, "first")
	if err := first.Write(certFile, keyFile, false); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{certFile: 0o644, keyFile: 0o600} {
		if info, err := os.Stat(name); err != nil {
			t.Fatal(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
	loaded, err := LoadCA(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Certificate.Equal(first.Certificate) {
		t.Fatal("another certificate came back")
	}
	leaf := issue(t, loaded, CertOptions{DNSNames: []string{"a"}})
	if _, err := leaf.Certificate.Verify(x509.VerifyOptions{Roots: first.Pool(), DNSName: "a", CurrentTime: epoch}); err != nil {
		t.Fatalf("issued by the loaded authority: %v", err)
	}

	second := newCA(t, "second")
	if err := second.Write(certFile, keyFile, false); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("second write: %v, want fs.ErrExist", err)
	}
	if again, err := LoadCA(certFile, keyFile); err != nil || !again.Certificate.Equal(first.Certificate) {
		t.Fatalf("the refused write changed the files (%v)", err)
	}
	if err := second.Write(certFile, keyFile, true); err != nil {
		t.Fatal(err)
	}
	if again, err := LoadCA(certFile, keyFile); err != nil || !again.Certificate.Equal(second.Certificate) {
		t.Fatalf("the forced write did not replace the files (%v)", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Fatalf("%d files left in the folder, want 2", len(entries))
	}
}

// One existing file of the two must stop the other from being written.
func TestWriteRefusesHalf(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "a.pem"), filepath.Join(dir, "a-key.pem")
	if err := os.WriteFile(certFile, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := newCA(t, "x").Write(certFile, keyFile, false); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v, want fs.ErrExist", err)
	}
	if _, err := os.Stat(keyFile); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the key was written nevertheless: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"one", "two"} {
		if err := newCA(t, name).Write(path(name+".pem"), path(name+"-key.pem"), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path("garbage.pem"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, cert, key string }{
		{"no certificate", "none.pem", "one-key.pem"},
		{"no key", "one.pem", "none.pem"},
		{"key of another", "one.pem", "two-key.pem"},
		{"garbage", "garbage.pem", "one-key.pem"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if ca, err := LoadCA(path(test.cert), path(test.key)); err == nil {
				t.Fatalf("loaded %s", ca.Certificate.Subject)
			}
		})
	}
}

func TestOptionErrors(t *testing.T) {
	ca := newCA(t, "ours")
	if _, err := NewCA(CAOptions{NotBefore: epoch, NotAfter: epoch.Add(1)}); err == nil {
		t.Error("an authority without a name was made")
	}
	for _, o := range []CertOptions{
		{NotBefore: epoch, NotAfter: epoch.Add(time.Hour)},
		{CommonName: "a"},
		{CommonName: "a", NotBefore: epoch},
		{CommonName: "a", NotBefore: epoch, NotAfter: epoch},
		{CommonName: "a", NotBefore: epoch, NotAfter: epoch.Add(-time.Hour)},
	} {
		if _, err := ca.Issue(o); err == nil {
			t.Errorf("%+v was issued", o)
		}
	}
	if len(ca.Certificate.ExtKeyUsage) != 0 {
		t.Error("the authority itself is fit for sessions")
	}
}
