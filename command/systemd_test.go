//go:build unix

package command

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// listenNotify plays the service manager. It returns the socket's path and a function
// that reads the next message.
func listenNotify(t *testing.T) (path string, next func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "yacron2-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return path, func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

// A real agent tells when it is ready, goes on telling that it lives, also while it
// waits for a job, and tells that it stops.
func TestAgentUnderSystemd(t *testing.T) {
	path, next := listenNotify(t)
	dir := configDir(t, map[string]string{"jobs.yaml": "jobs:\n" + daily})
	p := startWith(t, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=20000"}, "agent", "-config-dir", dir)
	ready := 0
	for alive := 0; ready == 0 || alive < 3; {
		switch message := next(); message {
		case stateReady:
			ready++
		case stateAlive:
			alive++
		default:
			t.Fatalf("told %q", message)
		}
	}
	if ready != 1 {
		t.Errorf("told %d times that it is ready", ready)
	}
	p.signal(syscall.SIGTERM)
	for message := next(); message != stateStopping; message = next() {
		if message != stateAlive {
			t.Fatalf("told %q", message)
		}
	}
	p.exits(exitOK)
}

func TestAgentWithoutItsSystemd(t *testing.T) {
	dir := configDir(t, map[string]string{"jobs.yaml": "jobs:\n" + daily})
	p := startWith(t, []string{"NOTIFY_SOCKET=/does/not/exist"}, "agent", "-config-dir", dir)
	p.await("systemd is not told of this agent: NOTIFY_SOCKET: ")
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

func TestNotifierEnvironment(t *testing.T) {
	path, _ := listenNotify(t)
	for _, test := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"", "", 0}, {"3000000", "", 3 * time.Second}, {"3000000", strconv.Itoa(os.Getpid()), 3 * time.Second},
		{"3000000", "1", 0}, {"0", "", 0}, {"-5", "", 0}, {"soon", "", 0},
	} {
		env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": test.usec, "WATCHDOG_PID": test.pid}
		n, err := newNotifier(func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		n.close()
		if n.watchdog != test.want {
			t.Errorf("%+v: watchdog %v", test, n.watchdog)
		}
	}
	// Nobody wants to know: everything is allowed and nothing happens.
	n, err := newNotifier(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	n.tell(stateReady)
	n.keepAlive(t.Context(), func() { t.Error("asked whether it is alive") })
	n.close()
}

// recorder is a connection that counts what is written.
type recorder struct {
	net.Conn
	messages []string
}

func (r *recorder) Write(p []byte) (int, error) {
	r.messages = append(r.messages, string(p))
	return len(p), nil
}

// An agent that hangs is silent.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &recorder{}
		n := &notifier{conn: conn, watchdog: 10 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		hang := make(chan struct{})
		asked := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.keepAlive(ctx, func() {
				if asked++; asked > 3 {
					<-hang
				}
			})
		}()
		<-time.After(14 * time.Second) // at 0, 5 and 10 s
		synctest.Wait()
		if len(conn.messages) != 3 || conn.messages[0] != stateAlive {
			t.Errorf("after 14 s: %q", conn.messages)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if len(conn.messages) != 3 {
			t.Errorf("while it hangs: %q", conn.messages)
		}
		cancel()
		close(hang)
		<-ended
	})
}
