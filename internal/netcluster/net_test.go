package netcluster

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The environment of this test binary when it runs on a host: it sends datagrams to the
// address, or tells what a name means, or receives and tells from whom.
const (
	envSend    = "YACRON2_NETCLUSTER_SEND"
	envResolve = "YACRON2_NETCLUSTER_RESOLVE"
	envReceive = "YACRON2_NETCLUSTER_RECEIVE"
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(envSend) != "":
		err = send(os.Getenv(envSend))
	case os.Getenv(envResolve) != "":
		err = resolve(os.Getenv(envResolve))
	case os.Getenv(envReceive) != "":
		err = receive()
	default:
		goleak.VerifyTestMain(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// datagrams is how many are sent at a time: no more than a receiver's buffer holds.
const datagrams = 200

func send(what string) error {
	var count int
	var to string
	if _, err := fmt.Sscan(what, &count, &to); err != nil {
		return err
	}
	conn, err := net.Dial("udp4", to)
	if err != nil {
		return err
	}
	defer conn.Close()
	for range count {
		if _, err := conn.Write([]byte("x")); err != nil {
			return err
		}
	}
	return nil
}

func resolve(name string) error {
	addrs, err := net.LookupHost(name)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(addrs, " "))
	return nil
}

// receive tells who sent a datagram, one by one.
func receive() error {
	conn, err := net.ListenPacket("udp4", ":7000")
	if err != nil {
		return err
	}
	fmt.Println("ready")
	out := bufio.NewWriter(os.Stdout)
	for {
		// What has arrived is told before waiting for more.
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			return err
		}
		_, from, err := conn.ReadFrom(make([]byte, 1))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = out.Flush()
		} else if err == nil {
			_, err = fmt.Fprintln(out, from.(*net.UDPAddr).IP)
		}
		if err != nil {
			return err
		}
	}
}

// on returns this test binary as a command that runs on a host.
func on(t *testing.T, n *Net, host, env string) *exec.Cmd {
	t.Helper()
	words := append(n.Prefix(host), os.Args[0])
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	return cmd
}

// receiver is a process that receives on a host.
type receiver struct {
	*bufio.Scanner
	addr netip.Addr
}

func startReceiver(t *testing.T, n *Net, host string) *receiver {
	t.Helper()
	cmd := on(t, n, host, envReceive+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	r := &receiver{Scanner: bufio.NewScanner(out), addr: n.Host(host).Addr}
	if !r.Scan() {
		t.Fatalf("the receiver on %s does not run", host)
	}
	return r
}

// arrived sends datagrams from a host and returns how many arrive before one that another
// host sends afterwards, from which everything arrives.
func (r *receiver) arrived(t *testing.T, n *Net, from, last string) int {
	t.Helper()
	for _, s := range []struct {
		host  string
		count int
	}{{from, datagrams}, {last, 1}} {
		if err := on(t, n, s.host, fmt.Sprintf("%s=%d %s:7000", envSend, s.count, r.addr)).Run(); err != nil {
			t.Fatal(err)
		}
	}
	count := 0
	for r.Scan() {
		switch r.Text() {
		case n.Host(from).Addr.String():
			count++
		case n.Host(last).Addr.String():
			return count
		}
	}
	t.Fatalf("the receiver has ended: %v", r.Err())
	return 0
}

func TestFaults(t *testing.T) {
	n := New(t, "left", "middle", "right")
	left, right := startReceiver(t, n, "left"), startReceiver(t, n, "right")
	check := func(what string, toRight, toLeft int) {
		t.Helper()
		// Of a third that gets lost, the number is not known exactly.
		slack := func(want int) int {
			if want == 0 || want == datagrams {
				return 0
			}
			return datagrams / 5
		}
		if got := right.arrived(t, n, "left", "middle"); got < toRight-slack(toRight) || got > toRight+slack(toRight) {
			t.Errorf("%s: %d of %d arrived on the right, want about %d", what, got, datagrams, toRight)
		}
		if got := left.arrived(t, n, "right", "middle"); got < toLeft-slack(toLeft) || got > toLeft+slack(toLeft) {
			t.Errorf("%s: %d of %d arrived on the left, want about %d", what, got, datagrams, toLeft)
		}
	}
	check("at first", datagrams, datagrams)
	n.CutOneWay("left", "right")
	check("one way", 0, datagrams)
	n.Cut("left", "right")
	check("both ways", 0, 0)
	n.Mend("left", "right")
	check("mended", datagrams, datagrams)
	n.Lose("left", 30)
	n.Mend("left", "middle")
	check("loss", datagrams*7/10, datagrams*7/10)
	n.Heal()
	n.Isolate("left", "middle")
	n.Mend("right", "middle") // who ends what is sent
	check("isolated", 0, 0)
	n.Heal()
	check("healed", datagrams, datagrams)
	if n.Thin("left", 1000) {
		n.Widen("left")
		check("wide again", datagrams, datagrams)
	}
}

func TestNames(t *testing.T) {
	n := New(t, "left", "middle", "right")
	check := func(want string) {
		t.Helper()
		cmd := on(t, n, "left", envResolve+"=right")
		cmd.Stderr = nil
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); got != want || (err == nil) != (want != "") {
			t.Errorf("right is %q, error %v; want %q", got, err, want)
		}
	}
	check("10.77.0.3")
	n.SetName("left", "right", netip.Addr{})
	check("")
	n.Move("right", "10.77.0.99", false)
	n.SetName("left", "right", n.Host("right").Addr)
	check("10.77.0.99")
	right := startReceiver(t, n, "right")
	if got := right.arrived(t, n, "left", "middle"); got != datagrams {
		t.Errorf("%d of %d arrived at the new address", got, datagrams)
	}
}

// What a test process leaves behind that was killed is gone when the next one begins.
func TestSweep(t *testing.T) {
	Require(t)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	space := fmt.Sprintf("%s%d-1-0", prefix, gone.Process.Pid)
	nets.Lock()
	defer nets.Unlock()
	if err := run("", "ip", "netns", "add", space); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = removeSpace(space) }()
	if err := sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(spacesDir + "/" + space); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", space, err)
	}
}

// What the tests themselves need can be told from what is missing.
func TestRequire(t *testing.T) {
	t.Setenv(Enabled, "")
	t.Setenv("CI", "true")
	skipped := t.Run("not asked for", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("not skipped")
			}
		}()
		Require(t)
	})
	if !skipped {
		t.Error("a test that nobody asked for fails")
	}
}
