package realstore

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// echo is a server that says what it hears, and the way to it.
func echo(t *testing.T) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // ends with the connection
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return NewProxy(t, "tcp://"+l.Addr().String())
}

// say sends a word and returns what comes back within a moment.
func say(t *testing.T, c net.Conn, word string, moment time.Duration) (string, error) {
	t.Helper()
	if _, err := io.WriteString(c, word); err != nil {
		return "", err
	}
	return hear(t, c, len(word), moment)
}

func hear(t *testing.T, c net.Conn, n int, moment time.Duration) (string, error) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(moment)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, n)
	_, err := io.ReadFull(c, buf)
	return string(buf), err
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const soon, never = testcluster.Patience, 100 * time.Millisecond

func TestProxyPassesAndCounts(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	for range 3 {
		if got, err := say(t, c, "word", soon); got != "word" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	want := Traffic{Connections: 1, BytesUp: 12, BytesDown: 12}
	if got := p.Traffic(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if got := p.Traffic().Sub(want); got != (Traffic{}) {
		t.Errorf("counted %+v since", got)
	}
}

func TestProxyBlocksAndHeals(t *testing.T) {
	for name, block := range map[string]func(*Proxy){"all": (*Proxy).Block, "answers": (*Proxy).BlockAnswers} {
		t.Run(name, func(t *testing.T) {
			p := echo(t)
			c := dial(t, p)
			if _, err := say(t, c, "first", soon); err != nil {
				t.Fatal(err)
			}
			block(p)
			if got, err := say(t, c, "late", never); err == nil {
				t.Fatalf("%q passed", got)
			}
			want := uint64(len("first"))
			if name == "answers" {
				want += uint64(len("late"))
			}
			testcluster.Eventually(t, "what may pass has passed", func() error {
				return testcluster.Expect("what has reached the store", p.Traffic().BytesUp, want)
			})
			p.Heal()
			if got, err := hear(t, c, 4, soon); got != "late" {
				t.Fatalf("after healing came %q, %v", got, err)
			}
		})
	}
}

func TestProxyCuts(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	if _, err := say(t, c, "first", soon); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if _, err := say(t, c, "x", soon); err == nil {
		t.Error("a connection has outlived a cut")
	}
	// A new connection is reset while it is made, or right after.
	if c, err := net.Dial("tcp", p.listener.Addr().String()); err == nil {
		if _, err := say(t, c, "x", soon); err == nil {
			t.Error("a new connection was let through a cut")
		}
		c.Close()
	}
	p.Heal()
	if got, err := say(t, dial(t, p), "word", soon); got != "word" {
		t.Errorf("after healing: %q, %v", got, err)
	}
}

func TestProxyDelays(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	p.Delay(50 * time.Millisecond)
	start := time.Now()
	if got, err := say(t, c, "word", soon); got != "word" || time.Since(start) < 100*time.Millisecond {
		t.Errorf("%q, %v after %v", got, err, time.Since(start))
	}
}

// Frames are counted wherever the pieces that pass happen to end.
func TestFrameCounter(t *testing.T) {
	var stream bytes.Buffer
	stream.WriteString(preface)
	f := http2.NewFramer(&stream, nil)
	for range 3 {
		for _, err := range []error{
			f.WriteSettings(),
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true}),
			f.WriteData(1, false, []byte("a message")),
			f.WriteData(1, true, nil), // the end of a stream is none
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for piece := 1; piece < 40; piece++ {
		var n atomic.Uint64
		c := frameCounter{count: &n}
		for rest := stream.Bytes(); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			c.feed(rest[:min(piece, len(rest))])
		}
		if n.Load() != 3 {
			t.Errorf("in pieces of %d: %d messages, want 3", piece, n.Load())
		}
	}
	var n atomic.Uint64
	c := frameCounter{count: &n}
	c.feed(bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 100))
	if n.Load() != 0 {
		t.Errorf("counted %d messages of another protocol", n.Load())
	}
}

// counting returns a server that counts its PUTs, and the way to it.
func counting(t *testing.T) (*HTTPProxy, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			n.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	return NewHTTPProxy(t, s.URL, nil), &n
}

func send(t *testing.T, p *HTTPProxy, method string, limit time.Duration) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func TestHTTPProxyAnswersInTheStoresPlace(t *testing.T) {
	p, n := counting(t)
	p.SetFault(Conflicts(2))
	for i, want := range []int{http.StatusConflict, http.StatusConflict, http.StatusOK} {
		if code, err := send(t, p, http.MethodPut, soon); code != want {
			t.Errorf("PUT %d: %d, %v, want %d", i, code, err, want)
		}
	}
	if code, err := send(t, p, http.MethodGet, soon); code != http.StatusOK {
		t.Errorf("GET: %d, %v", code, err)
	}
	if got := p.Requests(); got["PUT"] != 3 || got["GET"] != 1 || n.Load() != 1 {
		t.Errorf("counted %v, and the store saw %d writes", got, n.Load())
	}
	if p.Traffic().BytesDown == 0 {
		t.Error("no bytes are counted")
	}
}

func TestHTTPProxyLosesAnswers(t *testing.T) {
	p, n := counting(t)
	p.SetFault(p.LoseAnswers(1, func(r *http.Request) bool { return r.Method == http.MethodPut }))
	if code, err := send(t, p, http.MethodPut, soon); err == nil {
		t.Errorf("a lost answer is %d", code)
	}
	if n.Load() == 0 {
		t.Error("the store did not see the request whose answer was lost")
	}
	if code, err := send(t, p, http.MethodPut, soon); code != http.StatusOK {
		t.Errorf("the next one: %d, %v", code, err)
	}
}

func TestHTTPProxyStalls(t *testing.T) {
	p, n := counting(t)
	p.SetFault(Stall(time.Hour))
	if _, err := send(t, p, http.MethodPut, never); err == nil || n.Load() != 0 {
		t.Errorf("a stalled request: %v, and the store saw %d", err, n.Load())
	}
	p.SetFault(Stall(time.Millisecond))
	if code, err := send(t, p, http.MethodPut, soon); code != http.StatusOK {
		t.Errorf("a request held up for a moment: %d, %v", code, err)
	}
}
