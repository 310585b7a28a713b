package report

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Secret says where a secret comes from: at most one of the fields is set. It prints,
// logs and marshals without its value.
type Secret struct {
	Value      string
	FromFile   string // path; the content is trimmed
	FromEnvVar string
}

// ErrSecretEmpty tells that the source of a secret exists but holds nothing.
var ErrSecretEmpty = errors.New("the secret is empty")

// IsSet reports whether there is a source at all.
func (s Secret) IsSet() bool { return s != Secret{} }

// Resolve reads the secret. An error never holds any of it.
func (s Secret) Resolve() (string, error) {
	switch {
	case s.Value != "":
		return s.Value, nil
	case s.FromFile != "":
		b, err := os.ReadFile(s.FromFile)
		if err != nil {
			return "", err
		}
		if v := strings.TrimSpace(string(b)); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("file %s: %w", s.FromFile, ErrSecretEmpty)
	case s.FromEnvVar != "":
		v, ok := os.LookupEnv(s.FromEnvVar)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", s.FromEnvVar)
		}
		if v != "" {
			return v, nil
		}
		return "", fmt.Errorf("environment variable %s: %w", s.FromEnvVar, ErrSecretEmpty)
	}
	return "", ErrSecretEmpty
}

// String names the source, never the value.
func (s Secret) String() string {
	switch {
	case s.Value != "":
		return "(value, hidden)"
	case s.FromFile != "":
		return "(file " + s.FromFile + ")"
	case s.FromEnvVar != "":
		return "(environment variable " + s.FromEnvVar + ")"
	}
	return "(none)"
}

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return "report.Secret" + s.String() }

// MarshalText keeps encoders from showing the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// key tells secrets of different sources apart without reading them. It holds the
// value and is for maps only.
func (s Secret) key() string { return s.Value + "\x00" + s.FromFile + "\x00" + s.FromEnvVar }
