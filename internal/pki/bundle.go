package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ErrEncryptedKey says that a private key needs a passphrase, which an agent has
// nobody to ask for.
var ErrEncryptedKey = errors.New("the private key is encrypted: an agent can not read it")

// Bundle is what one PEM file holds, in the order of the file.
type Bundle struct {
	Certificates []*x509.Certificate
	Keys         []crypto.Signer
}

// ParseBundle reads the text of a PEM file. Unlike the readers of the standard library
// it passes over nothing but parameters and comments: a block that is cut off, broken
// or of another kind is an error.
func ParseBundle(data []byte) (*Bundle, error) {
	b := &Bundle{}
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		if err := b.add(block); err != nil {
			return nil, err
		}
	}
	switch {
	case bytes.Contains(data, []byte("-----BEGIN")):
		return nil, errors.New("a PEM block is not whole")
	case len(b.Certificates)+len(b.Keys) == 0:
		return nil, errors.New("neither a certificate nor a private key in PEM form")
	}
	return b, nil
}

func (b *Bundle) add(block *pem.Block) error {
	switch {
	case block.Type == "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("a certificate can not be read: %w", err)
		}
		b.Certificates = append(b.Certificates, cert)
	case strings.HasSuffix(block.Type, " PARAMETERS"):
	case block.Type == "ENCRYPTED PRIVATE KEY", block.Headers["DEK-Info"] != "":
		return ErrEncryptedKey
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		key, err := parseKey(block)
		if err != nil {
			return fmt.Errorf("a private key can not be read: %w", err)
		}
		b.Keys = append(b.Keys, key)
	default:
		return fmt.Errorf("a block of type %q is neither a certificate nor a private key", block.Type)
	}
	return nil
}

func parseKey(block *pem.Block) (crypto.Signer, error) {
	var (
		key any
		err error
	)
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T can not sign", key)
	}
	return signer, nil
}

// Leaf returns the certificate that a process with this file would show as its own: the
// first one, unless it is an authority. Nil if there is none.
func (b *Bundle) Leaf() *x509.Certificate {
	if len(b.Certificates) == 0 || b.Certificates[0].IsCA {
		return nil
	}
	return b.Certificates[0]
}

// SameKey reports whether two public keys are the same.
func SameKey(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}
