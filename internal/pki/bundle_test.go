package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
)

func keyPEM(t testing.TB, p *Pair) []byte {
	t.Helper()
	text, err := p.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseBundle(t *testing.T) {
	ca := newCA(t, "ours")
	leaf := issue(t, ca, CertOptions{CommonName: "a", DNSNames: []string{"a"}})
	text := slicesOf([]byte("a comment\n"), leaf.CertPEM(), ca.CertPEM(), keyPEM(t, leaf), []byte("\nthe end\n"))
	b, err := ParseBundle(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Certificates) != 2 || len(b.Keys) != 1 || !b.Leaf().Equal(leaf.Certificate) {
		t.Fatalf("got %d certificates, %d keys, leaf %v", len(b.Certificates), len(b.Keys), b.Leaf())
	}
	if !SameKey(b.Keys[0].Public(), leaf.Certificate.PublicKey) || SameKey(b.Keys[0].Public(), ca.Certificate.PublicKey) {
		t.Error("keys are not told apart")
	}
	if b, err := ParseBundle(ca.CertPEM()); err != nil || b.Leaf() != nil {
		t.Errorf("an authority is its own leaf: %v, %v", b.Leaf(), err)
	}
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Keys come in three wrappings, and elliptic ones with parameters before them.
func TestParseBundleKeys(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"EC": slicesOf(
			pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 5, 0x2b, 0x81, 4, 0, 0x22}}),
			pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: old})),
		"RSA": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}),
	} {
		b, err := ParseBundle(text)
		if err != nil || len(b.Keys) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		if public := b.Keys[0].Public(); !SameKey(public, ec.Public()) && !SameKey(public, rsaKey.Public()) {
			t.Errorf("%s: another key", name)
		}
	}
}

func TestParseBundleRefuses(t *testing.T) {
	ca := newCA(t, "ours")
	whole := ca.CertPEM()
	for want, text := range map[string][]byte{
		"neither a certificate nor a private key in PEM form":    []byte("hello"),
		"a PEM block is not whole":                               slicesOf(whole, whole[:len(whole)/2]),
		"a certificate can not be read":                          pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no")}),
		"a private key can not be read":                          pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("no")}),
		`a block of type "CERTIFICATE REQUEST" is neither`:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("no")}),
		"the private key is encrypted: an agent can not read it": pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("no")}),
	} {
		if b, err := ParseBundle(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %+v, %v, want %q", b, err, want)
		}
	}
	legacy := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("x")})
	if _, err := ParseBundle(legacy); !errors.Is(err, ErrEncryptedKey) {
		t.Errorf("an old encrypted key: %v", err)
	}
}

// Whatever a file holds, the result is either an error or something to show.
func FuzzParseBundle(f *testing.F) {
	ca, err := NewCA(CAOptions{CommonName: "ours", NotBefore: epoch, NotAfter: epoch.AddDate(1, 0, 0)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ca.CertPEM())
	f.Add(slicesOf(keyPEM(f, &ca.Pair), ca.CertPEM()))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBundle(data)
		if (b == nil) == (err == nil) {
			t.Fatalf("got %v and %v", b, err)
		}
		if err != nil {
			return
		}
		if len(b.Certificates)+len(b.Keys) == 0 {
			t.Fatal("nothing, and no error")
		}
		for _, cert := range b.Certificates {
			Check(cert, NodeUse, epoch)
			Verify(cert, b.Certificates, b.Certificates, NodeUse, epoch)
			if Name(cert) == "" {
				t.Fatal("a certificate without a name")
			}
		}
	})
}
