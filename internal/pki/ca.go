package pki

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrNotCA says that a loaded certificate may not sign others.
var ErrNotCA = errors.New("not a certificate authority")

// CAOptions describes a certificate authority to be made.
type CAOptions struct {
	CommonName          string    // shown to people; required
	NotBefore, NotAfter time.Time // required
}

// CA is a certificate authority that can issue.
type CA struct {
	Pair
}

// NewCA makes a self-signed authority with a fresh key. It signs leaf certificates
// only: it can not make further authorities.
func NewCA(o CAOptions) (*CA, error) {
	if o.CommonName == "" {
		return nil, errors.New("a certificate authority needs a common name")
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: o.CommonName},
		NotBefore:             o.NotBefore,
		NotAfter:              o.NotAfter,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	pair, err := sign(template, nil)
	if err != nil {
		return nil, err
	}
	return &CA{Pair: *pair}, nil
}

// LoadCA reads an authority from its PEM files, which need not have been made by
// this package: any key type of crypto/x509 will do. The error says which file is
// wrong, and is ErrNotCA for a certificate that may not sign.
func LoadCA(certFile, keyFile string) (*CA, error) {
	certPEM, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA key: %w", err)
	}
	loaded, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", certFile, keyFile, err)
	}
	key, ok := loaded.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: a %T can not sign", keyFile, loaded.PrivateKey)
	}
	if !loaded.Leaf.IsCA || loaded.Leaf.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, fmt.Errorf("%s: %w", certFile, ErrNotCA)
	}
	return &CA{Pair: Pair{Certificate: loaded.Leaf, Key: key}}, nil
}

// Pool returns a pool that trusts this authority alone.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.Certificate)
	return pool
}
