package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
)

// inspectedFiles makes an authority and two nodes' certificates.
func inspectedFiles(t *testing.T) (dir string, path func(string) string) {
	t.Helper()
	dir = createCA(t)
	createCert(t, dir, "-name=a", "-dns=a.example", "-ip=127.0.0.1", "-days=30").expect(t, exitOK, []string{"Wrote"}, nil)
	createCert(t, dir, "-name=b").expect(t, exitOK, []string{"Wrote"}, nil)
	return dir, func(name string) string { return filepath.Join(dir, name) }
}

func TestTLSInspect(t *testing.T) {
	_, path := inspectedFiles(t)
	r := run(t, nil, "tls", "inspect", path("ca.pem"), path("a.pem"), path("a-key.pem"), "-host=a.example", "-host=127.0.0.1")
	r.expect(t, exitOK, []string{
		path("ca.pem") + "\n  Authority  yacron2 cluster CA\n  Issued by  yacron2 cluster CA\n  Valid      2026-03-01 11:00:00Z to 2036-02-27 12:00:00Z, ends in 3650 days\n" +
			"  Good for   signing certificates\n  Key        ECDSA P-256\n  SHA-256    ",
		"\n\n" + path("a.pem") + "\n  Certificate  a\n  Issued by    yacron2 cluster CA\n  Hosts        a.example, 127.0.0.1\n" +
			"  Valid        2026-03-01 11:00:00Z to 2026-03-31 12:00:00Z, ends in 30 days\n  Good for     a node of a cluster, an https listener\n",
		"\n\n" + path("a-key.pem") + "\n  Private key  ECDSA P-256\n",
	}, nil)

	r = run(t, nil, "tls", "inspect", "-format=json", path("ca.pem"), path("a.pem"), path("a-key.pem"))
	r.expect(t, exitOK, []string{"["}, nil)
	var found []inspected
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || len(found) != 3 {
		t.Fatalf("%d items (%v)", len(found), err)
	}
	a := found[1]
	if a.Kind != kindCertificate || a.Name != "a" || strings.Join(a.Hosts, " ") != "a.example 127.0.0.1" || strings.Join(a.Usable, " ") != "server client" ||
		*a.EndsIn != (30*24*time.Hour).Seconds() || len(a.Fingerprint) != 64 || a.Problems == nil || len(a.Problems) != 0 {
		t.Errorf("got %+v", a)
	}
	if found[0].Kind != kindAuthority || found[2].Kind != kindKey || found[2].EndsIn != nil {
		t.Errorf("got %+v", found)
	}
}

func TestTLSInspectProblems(t *testing.T) {
	dir, path := inspectedFiles(t)
	other := createCA(t)
	if err := os.WriteFile(path("half.pem"), []byte("-----BEGIN CERTIFICATE-----\nMIIB"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Old, without a host, and with a key that everybody may read.
	ca, err := pki.LoadCA(path("ca.pem"), path("ca-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := ca.Issue(pki.CertOptions{CommonName: "old", NotBefore: noon.AddDate(0, 0, -9), NotAfter: noon.AddDate(0, 0, -1)})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Write(path("old.pem"), path("old-key.pem"), false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path("old-key.pem"), 0o604); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		path("none.pem") + ": no such file or directory\n":                                      {path("none.pem")},
		dir + ": is a directory\n":                                                              {dir},
		path("half.pem") + ": a PEM block is not whole\n":                                       {path("half.pem")},
		path("a.pem") + ": it is not valid for the host b.example\n":                            {path("a.pem"), "-host=b.example"},
		path("a.pem") + ": it ends in 30 days\n":                                                {path("a.pem"), "-days=31"},
		path("a.pem") + ": none of the authorities issued it\n":                                 {path("a.pem"), filepath.Join(other, "ca.pem")},
		path("a.pem") + ": none of the private keys belongs to it\n":                            {path("a.pem"), path("b-key.pem")},
		path("b-key.pem") + ": none of the certificates belongs to this private key\n":          {path("a.pem"), path("b-key.pem")},
		path("old.pem") + ": it expired on 2026-02-28T12:00:00Z\n":                              {path("ca.pem"), path("old.pem")},
		path("old.pem") + ": it is valid for no host":                                           {path("old.pem"), "-for=https"},
		path("old-key.pem") + ": everybody on this machine may read the private key: chmod 600": {path("old-key.pem")},
	} {
		r := run(t, nil, append([]string{"tls", "inspect"}, args...)...)
		if r.code != exitFailed || !strings.Contains(r.err, "error: "+want) {
			t.Errorf("%q: exit code %d, %q; want %q", args, r.code, r.err, want)
		}
		r = run(t, nil, append([]string{"tls", "inspect", "-format=json"}, args...)...)
		r.expect(t, exitFailed, []string{`"problems": [`}, nil)
	}
	run(t, nil, "tls", "inspect", path("a.pem"), "-days=30").expect(t, exitOK, []string{"ends in 30 days"}, nil)
	// What the others need is told although one file is bad.
	run(t, nil, "tls", "inspect", path("none.pem"), path("a.pem")).expect(t, exitFailed, []string{"Certificate  a\n"}, []string{"none.pem"})
}

func TestTLSInspectMisuse(t *testing.T) {
	run(t, nil, "tls", "inspect").expect(t, exitMisuse, nil, []string{"name the files"})
	run(t, nil, "tls", "inspect", "-for=mail", "a").expect(t, exitMisuse, nil, []string{"-for=mail: write node or https"})
	run(t, nil, "tls", "inspect", "-days=-1", "a").expect(t, exitMisuse, nil, []string{"-days=-1: write 0 or more"})
}
