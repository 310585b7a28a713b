package agent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/internal/bind"
)

// defaultSocketMode lets the agent's own user and group speak to a unix socket.
const defaultSocketMode = 0o660

// listen binds one address of the HTTP API. mode is for unix sockets only; 0 means the
// default. certs serves https listeners.
func listen(l config.Listener, mode os.FileMode, certs *certificates) (net.Listener, error) {
	switch l.Scheme {
	case "http":
		return net.Listen(bind.TCP(l.Address))
	case "https":
		if _, err := certs.get(nil); err != nil {
			return nil, err
		}
		network, address := bind.TCP(l.Address)
		return tls.Listen(network, address, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: certs.get,
			NextProtos:     []string{"http/1.1"},
		})
	case "unix":
		return listenUnix(l.Address, mode)
	}
	return nil, fmt.Errorf("listen address %q: the scheme must be http, https or unix", l)
}

// listenUnix makes a socket that has its final mode from the first moment on: it is
// bound in a private folder beside its path, and moved into place when it is ready. The
// umask would do the same, but it belongs to the whole process.
func listenUnix(path string, mode os.FileMode) (net.Listener, error) {
	if mode == 0 {
		mode = defaultSocketMode
	}
	if err := replaceable(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".yacron2-")
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	defer func() { _ = os.RemoveAll(private) }()
	hidden := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(hidden, mode), os.Rename(hidden, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	return &unixListener{Listener: l, path: path, info: info}, nil
}

// replaceable reports why path cannot become a socket. A socket that a dead process
// left behind can; one that answers, or any other file, cannot.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket %s: a file that is not a socket is in the way", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(fmt.Errorf("socket %s: another process listens there: %w", path, syscall.EADDRINUSE), conn.Close())
	}
	return nil
}

// unixListener removes its socket file on Close, unless another process has put its
// own in that place.
type unixListener struct {
	net.Listener
	path string
	info os.FileInfo
}

func (l *unixListener) Close() error {
	err := l.Listener.Close()
	if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(now, l.info) {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}
