package report

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestStatsd(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s := &Statsd{Prefix: "my.jobs.j", Host: "localhost", Port: server.LocalAddr().(*net.UDPAddr).Port}
	b := newBench(t, Config{})
	b.RunStarted(s, "j")
	b.RunEnded(s, "j", true, 1234567*time.Microsecond)
	b.RunStarted(s, "j")
	b.RunEnded(s, "j", false, -time.Second)
	b.RunStarted(nil, "j")
	b.RunEnded(nil, "j", true, 0)
	for _, want := range []string{
		"my.jobs.j.start:1|g\n",
		"my.jobs.j.stop:1|g\nmy.jobs.j.success:1|g\nmy.jobs.j.duration:1234|ms|@0.1\n",
		"my.jobs.j.start:1|g\n",
		"my.jobs.j.stop:1|g\nmy.jobs.j.success:0|g\nmy.jobs.j.duration:0|ms|@0.1\n",
	} {
		buffer := make([]byte, 2000)
		server.SetReadDeadline(time.Now().Add(waitLimit))
		n, _, err := server.ReadFrom(buffer)
		if err != nil || string(buffer[:n]) != want {
			t.Fatalf("got %q, want %q; %v", buffer[:n], want, err)
		}
	}
	b.lanes.wait()
	b.wantNoFailure(t)
}

func TestStatsdServerThatIsNot(t *testing.T) {
	b := newBench(t, Config{})
	b.RunStarted(&Statsd{Prefix: "p", Host: "not a host", Port: 8125}, "j")
	b.lanes.wait()
	if text := b.log.String(); strings.Count(text, "statsd was not told") != 1 || !strings.Contains(text, "job=j") {
		t.Errorf("log %q", text)
	}
}
