package config

import (
	"errors"
	"io/fs"
	"os"
)

// secretFile warns of a secret whose file others can read, or nobody.
func (l *loader) secretFile(n *node, key, job string, s Secret) {
	if s.FromFile == "" {
		return
	}
	at := n
	if f := n.get("fromFile"); f != nil {
		at = f
	}
	l.privateFile(at, key, job, s.FromFile, true)
}

// privateFile warns of a file with a secret or a private key that everybody on the
// machine can read. A file that is not there is worth a warning only where nothing else
// will look for it before it is needed.
func (l *loader) privateFile(at *node, key, job, path string, missing bool) {
	l.watch(path)
	m, ok := l.modes[path]
	if !ok {
		info, err := os.Stat(path)
		m.err = err
		if err == nil {
			m.mode = info.Mode()
		}
		l.modes[path] = m
	}
	message, hint := "", ""
	switch {
	case m.err != nil && missing:
		message = "the file " + quote(path) + " cannot be read now: " + reason(m.err)
		if errors.Is(m.err, fs.ErrNotExist) {
			hint = "the path is relative to the working directory of the agent"
		}
	case m.err == nil && m.mode.IsRegular() && m.mode.Perm()&0o004 != 0:
		message = "everybody on this machine can read " + quote(path)
		hint = "chmod o-rwx " + path
	default:
		return
	}
	l.out.add(at.pos, Diagnostic{Severity: Warning, Job: job, Key: key, Message: message, Hint: hint})
}

// fileMode is the mode of a file that was looked at once.
type fileMode struct {
	mode fs.FileMode
	err  error
}
