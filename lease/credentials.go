package lease

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Credentials are where the client of a store finds what it is known by.
type Credentials struct {
	// CA, Cert and Key are PEM files; "" for none. Without a CA the system's are trusted.
	CA, Cert, Key string
	// Secret is read at each Read; nil for none. SecretName is its key in the
	// configuration, for errors.
	Secret     func() (string, error)
	SecretName string
}

// Material is what the files and the secret held when they were read.
type Material struct {
	ca, cert, key []byte
	Secret        string
}

// Read reads the files and the secret. An error names what is wrong.
func (c Credentials) Read() (m Material, err error) {
	for _, f := range []struct {
		path string
		to   *[]byte
	}{{c.CA, &m.ca}, {c.Cert, &m.cert}, {c.Key, &m.key}} {
		if f.path == "" {
			continue
		}
		if *f.to, err = os.ReadFile(f.path); err != nil {
			return Material{}, err
		}
	}
	if c.Secret != nil {
		if m.Secret, err = c.Secret(); err != nil {
			return Material{}, fmt.Errorf("%s: %w", c.SecretName, err)
		}
	}
	return m, nil
}

// Equal reports whether nothing has changed.
func (m Material) Equal(other Material) bool {
	return bytes.Equal(m.ca, other.ca) && bytes.Equal(m.cert, other.cert) && bytes.Equal(m.key, other.key) && m.Secret == other.Secret
}

// TLS returns the settings of a connection to the store.
func (m Material) TLS() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if m.ca != nil {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(m.ca) {
			return nil, errors.New("tls.ca holds no certificate in PEM form")
		}
	}
	if m.cert != nil || m.key != nil {
		pair, err := tls.X509KeyPair(m.cert, m.key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
