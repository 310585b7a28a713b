package command

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// load reads a pair that a command wrote, as an agent would.
func load(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	certFile, keyFile := filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("%s has mode %o", keyFile, mode)
	}
	return pair.Leaf
}

// createCA makes an authority in a new folder and returns the folder.
func createCA(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "tls")
	run(t, nil, "tls", "ca", "create", "-dir", dir).
		expect(t, exitOK, []string{"Wrote " + filepath.Join(dir, "ca.pem"), "Wrote " + filepath.Join(dir, "ca-key.pem"), "Valid until 2036-02-27", "yacron2 tls cert create"}, nil)
	return dir
}

func createCert(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return run(t, nil, append([]string{"tls", "cert", "create", "-dir", dir,
		"-ca", filepath.Join(dir, "ca.pem"), "-key", filepath.Join(dir, "ca-key.pem")}, args...)...)
}

func TestTLSCreate(t *testing.T) {
	dir := createCA(t)
	ca := load(t, dir, "ca")
	pool := x509.NewCertPool()
	pool.AddCert(ca)

	r := createCert(t, dir, "-name=yacron-a", "-dns=a.example,a2.example", "-dns=localhost", "-ip=127.0.0.1", "-ip=::1", "-days=30")
	r.expect(t, exitOK, []string{
		"for a.example, a2.example, localhost, 127.0.0.1, ::1\n", "Valid until 2026-03-31.\n",
		"\ncluster:\n  nodeName: yacron-a\n  tls:\n    ca: " + filepath.Join(dir, "ca.pem") + "\n    cert: " + filepath.Join(dir, "yacron-a.pem") +
			"\n    key: " + filepath.Join(dir, "yacron-a-key.pem") + "\n",
	}, nil)
	leaf := load(t, dir, "yacron-a")
	for _, host := range []string{"a.example", "a2.example", "localhost", "127.0.0.1", "::1"} {
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: noon, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("%s, usage %v: %v", host, usage, err)
			}
		}
	}
	if err := leaf.VerifyHostname("yacron-a"); err == nil {
		t.Error("the node's name verifies although others were given")
	}
	// The clock of another node may be behind.
	if want := noon.Add(-time.Hour); !leaf.NotBefore.Equal(want) || !ca.NotBefore.Equal(want) {
		t.Errorf("valid from %v and %v, want %v", ca.NotBefore, leaf.NotBefore, want)
	}

	createCert(t, dir, "-name=yacron-b").expect(t, exitOK, []string{"for yacron-b\n"}, nil)
	if names := load(t, dir, "yacron-b").DNSNames; !slices.Equal(names, []string{"yacron-b"}) {
		t.Errorf("without -dns and -ip the names are %q", names)
	}
}

func TestTLSOverwrite(t *testing.T) {
	dir := createCA(t)
	createCert(t, dir, "-name=a").expect(t, exitOK, []string{"Wrote"}, nil)
	ca, leaf := load(t, dir, "ca"), load(t, dir, "a")
	run(t, nil, "tls", "ca", "create", "-dir", dir).expect(t, exitFailed, nil, []string{"exists already: -force overwrites it"})
	createCert(t, dir, "-name=a").expect(t, exitFailed, nil, []string{"a-key.pem exists already: -force overwrites it"})
	if !load(t, dir, "ca").Equal(ca) || !load(t, dir, "a").Equal(leaf) {
		t.Fatal("a refused command changed files")
	}
	createCert(t, dir, "-name=a", "-force").expect(t, exitOK, []string{"Wrote"}, nil)
	run(t, nil, "tls", "ca", "create", "-dir", dir, "-force", "-name=other").expect(t, exitOK, []string{"Wrote"}, nil)
	if load(t, dir, "a").Equal(leaf) || load(t, dir, "ca").Subject.CommonName != "other" {
		t.Fatal("-force did not overwrite")
	}
}

func TestTLSMisuse(t *testing.T) {
	for want, args := range map[string]string{
		"-days=0: write 1 to 36500":               "ca create -days=0",
		"-days=36501: write 1 to 36500":           "ca create -days=36501",
		"-name must not be empty":                 "ca create -name=",
		"-name is required":                       "cert create",
		"-name=a/b: use letters":                  "cert create -name=a/b",
		"-name=..: use letters":                   "cert create -name=..",
		"-name=a..b is no host name":              "cert create -name=a..b",
		"127.0.0.1 is an address: write -ip=":     "cert create -name=a -dns=127.0.0.1",
		"write a host name without a port":        "cert create -name=a -dns=a:8443",
		`invalid value "b." for -dns`:             "cert create -name=a -dns=b.",
		"write an IPv4 or IPv6 address without a": "cert create -name=a -ip=a",
		"-days=-1: write":                         "cert create -name=a -days=-1",
	} {
		run(t, nil, append([]string{"tls"}, strings.Fields(args)...)...).expect(t, exitMisuse, nil, []string{want})
	}
}

func TestTLSFailures(t *testing.T) {
	dir := createCA(t)
	createCert(t, dir, "-name=a", "-days=4000").expect(t, exitFailed, nil, []string{"the authority itself ends on 2036-02-27"})
	createCert(t, dir, "-name=leaf").expect(t, exitOK, []string{"Wrote"}, nil)
	createCert(t, dir, "-name=a", "-ca", filepath.Join(dir, "leaf.pem"), "-key", filepath.Join(dir, "leaf-key.pem")).
		expect(t, exitFailed, nil, []string{"not a certificate authority"})
	createCert(t, dir, "-name=a", "-key", filepath.Join(dir, "leaf-key.pem")).
		expect(t, exitFailed, nil, []string{"private key does not match"})
	createCert(t, dir, "-name=a", "-ca", filepath.Join(dir, "none.pem")).
		expect(t, exitFailed, nil, []string{"none.pem", "no such file"})

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "tls", "ca", "create", "-dir", filepath.Join(file, "below")).expect(t, exitFailed, nil, []string{"not a directory"})
}
