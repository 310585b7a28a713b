package agent

import (
	"bufio"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// limitedServer serves on loopback with a limit of connections.
func limitedServer(t *testing.T, limit int, handler http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ConnState: newConnections(hclog.NewNullLogger(), limit).changed, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return l.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// get sends a request over a connection and reads the answer.
func get(t *testing.T, conn net.Conn) (int, error) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// Whoever holds connections without a request, or never ends one, keeps nobody out.
func TestConnectionsThatWaitMakeRoom(t *testing.T) {
	const limit = 8
	address := limitedServer(t, limit, served)
	var held []net.Conn
	for i := range 3 * limit {
		conn := dial(t, address)
		if i%2 == 0 { // half of them begin a request and never end it
			if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost:")); err != nil {
				t.Fatal(err)
			}
		}
		held = append(held, conn)
	}
	for range 5 {
		conn := dial(t, address)
		if code, err := get(t, conn); err != nil || code != http.StatusNoContent {
			t.Fatalf("a new client: %d, %v", code, err)
		}
		if code, err := get(t, conn); err != nil || code != http.StatusNoContent {
			t.Fatalf("its second request: %d, %v", code, err)
		}
	}
	closed := 0
	for _, conn := range held[:2*limit] {
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil && !isTimeout(err) {
			closed++
		}
	}
	if closed != 2*limit {
		t.Errorf("%d of the %d connections that wait longest were closed", closed, 2*limit)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// Requests under way are never cut off for a new one.
func TestConnectionsThatWorkStay(t *testing.T) {
	const limit = 3
	started, release := make(chan struct{}, limit), make(chan struct{})
	address := limitedServer(t, limit, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		started <- struct{}{}
		<-release
		w.WriteHeader(http.StatusNoContent)
	}))
	results := make(chan error, limit)
	for range limit {
		conn := dial(t, address)
		go func() {
			_, err := get(t, conn)
			results <- err
		}()
	}
	for range limit {
		<-started
	}
	if code, err := get(t, dial(t, address)); err == nil {
		t.Errorf("one too many was answered: %d", code)
	}
	close(release)
	for range limit {
		if err := <-results; err != nil {
			t.Errorf("a request under way: %v", err)
		}
	}
}
