package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// CertOptions describes a node's certificate.
type CertOptions struct {
	CommonName          string    // shown to people; verification looks at the two lists below only
	DNSNames            []string  // host names by which others reach the node
	IPs                 []net.IP  // addresses by which others reach the node
	NotBefore, NotAfter time.Time // required
}

// Pair is a certificate with its private key.
type Pair struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Issue makes a certificate with a fresh key for one node, fit for the server's and
// for the client's end of a session.
func (ca *CA) Issue(o CertOptions) (*Pair, error) {
	if o.CommonName == "" && len(o.DNSNames) == 0 && len(o.IPs) == 0 {
		return nil, errors.New("a certificate needs a name")
	}
	return sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: o.CommonName},
		DNSNames:              o.DNSNames,
		IPAddresses:           o.IPs,
		NotBefore:             o.NotBefore,
		NotAfter:              o.NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}, ca)
}

// sign completes template with a fresh key and serial number and has it signed by
// ca, or by itself if ca is nil.
func sign(template *x509.Certificate, ca *CA) (*Pair, error) {
	switch {
	case template.NotBefore.IsZero() || template.NotAfter.IsZero():
		return nil, errors.New("a certificate needs both ends of its validity")
	case !template.NotAfter.After(template.NotBefore):
		return nil, fmt.Errorf("a certificate valid from %s can not end at %s",
			template.NotBefore.Format(time.RFC3339), template.NotAfter.Format(time.RFC3339))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	// 127 random bits: positive, and at most the 20 octets that RFC 5280 allows.
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	parent, signer := template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.Certificate, ca.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back the signed certificate: %w", err)
	}
	return &Pair{Certificate: cert, Key: key}, nil
}

// TLS returns the pair in the form that crypto/tls presents to others.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{
		Certificate: [][]byte{p.Certificate.Raw},
		PrivateKey:  p.Key,
		Leaf:        p.Certificate,
	}
}

// CertPEM returns the certificate as a PEM block.
func (p *Pair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw})
}

// KeyPEM returns the private key as a PKCS #8 PEM block.
func (p *Pair) KeyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
