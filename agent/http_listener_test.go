package agent

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/agent/config"
)

func TestListenUnixIsRestrictedFromTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	l, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %v, want 0600", got)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the socket does not answer under its final name: %v", err)
	}
	_ = conn.Close()
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket file stays after Close: %v", err)
	}
}

func TestListenUnixReplacesOnlyADeadSocket(t *testing.T) {
	dir := t.TempDir()

	dead := filepath.Join(dir, "dead.sock")
	crashed, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	crashed.SetUnlinkOnClose(false)
	_ = crashed.Close()
	l, err := listenUnix(dead, 0)
	if err != nil {
		t.Fatalf("a socket left by a crash is not replaced: %v", err)
	}
	defer func() { _ = l.Close() }()

	if _, err := listenUnix(dead, 0); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a living socket was taken over: %v", err)
	}

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(file, 0); err == nil {
		t.Error("a regular file was replaced")
	}
	if data, _ := os.ReadFile(file); string(data) != "precious" {
		t.Error("the regular file is gone")
	}
}

// 0.0.0.0 is IPv4, and nothing else is served there by the way.
func TestListenServesTheFamilyThatIsNamed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "127.0.0.1:0", "*:0"} {
		l, err := listen(config.Listener{Scheme: "http", Address: address}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := l.Addr().(*net.TCPAddr); !ok || got.IP.To4() == nil && address != "*:0" || !got.IP.IsUnspecified() && address != "127.0.0.1:0" {
			t.Errorf("%s became %v", address, l.Addr())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
