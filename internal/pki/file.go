package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The modes of written files: everybody may read a certificate, only the owner a key.
const (
	certMode fs.FileMode = 0o644
	keyMode  fs.FileMode = 0o600
)

// Write puts the pair into two PEM files. A file that exists already is an error
// that matches fs.ErrExist, and nothing is written then, unless overwrite is set.
// Each file appears whole or not at all, so that a process that watches it never
// reads a part; the key is in place before its certificate.
func (p *Pair) Write(certFile, keyFile string, overwrite bool) error {
	keyPEM, err := p.KeyPEM()
	if err != nil {
		return err
	}
	if !overwrite {
		for _, name := range []string{keyFile, certFile} {
			if _, err := os.Lstat(name); err == nil {
				return &fs.PathError{Op: "write", Path: name, Err: fs.ErrExist}
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if err := writeFile(keyFile, keyPEM, keyMode); err != nil {
		return err
	}
	return writeFile(certFile, p.CertPEM(), certMode)
}

// writeFile replaces name by a complete new file. The content is synced before the
// rename: otherwise a crash could leave an empty file under the final name.
func writeFile(name string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
