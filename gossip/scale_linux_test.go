package gossip

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// BenchmarkScale runs clusters of growing size, all nodes in this process, connected by
// TLS over loopback, and shows what a node costs: to agree, idle, and when one of the
// others goes away and comes back. The environment variable YACRON2_SCALE lists the sizes.
// The processor time of a node includes both ends of what it sends: divided among the
// nodes, everything is counted once.
func BenchmarkScale(b *testing.B) {
	sizes := os.Getenv("YACRON2_SCALE")
	if sizes == "" {
		sizes = "3,9"
	}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 2 {
			b.Fatalf("YACRON2_SCALE lists numbers of nodes, not %q", size)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				measureScale(b, n, 35*time.Second).report(b)
			}
		})
	}
}

// A node's bytes, while nothing happens and because another one goes away and comes back,
// stay within bounds that are linear in the number of nodes, and in its square. The bounds
// are twice what is measured. On a machine that is so busy that sessions break, a measurement
// shows that instead, so there are a few.
func TestScale(t *testing.T) {
	for _, n := range []int{3, 9} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var excess []string
			for range 4 {
				f := measureScale(t, n, 3*time.Second)
				t.Logf("%+v", f)
				if excess = f.excess(); len(excess) == 0 {
					return
				}
			}
			t.Error(strings.Join(excess, "; "))
		})
	}
}

// excess says in what a node takes more than it should.
func (f figures) excess() (list []string) {
	n := float64(f.nodes)
	for _, x := range []struct {
		what     string
		is, most float64
	}{
		{"bytes a second for each peer of an idle node", f.idleBytes / (n - 1), 2 * idleBytesPerPeer},
		{"times N² bytes of each node for one flap", f.flapBytes / (n * n), 2 * flapBytesPerPair},
		{"descriptors", f.descriptors, 2*(n-1) + 1.5}, // a listener, and what the runtime opens
	} {
		if x.is > x.most {
			list = append(list, fmt.Sprintf("%.1f %s, at most %.1f are expected", x.is, x.what, x.most))
		}
	}
	return list
}

// What the tests hold a node to.
const (
	idleBytesPerPeer = 300  // a second
	flapBytesPerPair = 2000 // times N², in all
)

// figures is what a cluster of some size costs, each of its nodes.
type figures struct {
	nodes       int
	agree       time.Duration
	agreeCPU    time.Duration
	agreeBytes  float64
	idleBytes   float64 // sent, a second
	idleCPU     float64 // seconds a minute
	descriptors float64
	goroutines  float64
	memory      float64 // bytes
	flap        time.Duration
	flapCPU     time.Duration
	flapBytes   float64 // sent
}

func (f figures) report(b *testing.B) {
	n := float64(f.nodes)
	b.ReportMetric(f.agree.Seconds(), "agree-s")
	b.ReportMetric(f.agreeCPU.Seconds(), "agree-cpu-s")
	b.ReportMetric(f.agreeBytes/1e3, "agree-kB")
	b.ReportMetric(f.idleBytes, "idle-B/s")
	b.ReportMetric(f.idleBytes/(n-1), "idle-B/s/peer")
	b.ReportMetric(f.idleCPU*1000, "idle-cpu-ms/min")
	b.ReportMetric(f.idleCPU*1000/(n-1), "idle-cpu-ms/min/peer")
	b.ReportMetric(f.descriptors, "fds")
	b.ReportMetric(f.goroutines, "goroutines")
	b.ReportMetric(f.memory/1e6, "MB")
	b.ReportMetric(f.flap.Seconds(), "flap-s")
	b.ReportMetric(f.flapCPU.Seconds()*1000, "flap-cpu-ms")
	b.ReportMetric(f.flapBytes/1e3, "flap-kB")
	b.ReportMetric(f.flapBytes/(n*n), "flap-B/N²")
	b.ReportMetric(0, "ns/op")
}

// measureScale runs a cluster of n nodes and watches it idle for a while.
func measureScale(t testing.TB, n int, idle time.Duration) figures {
	t.Helper()
	needDescriptors(t, 2*n*n+200)
	u := &usage{t: t}
	c := newTestCluster(t)
	defer c.killAll()
	c.wrap = func(conn net.Conn) net.Conn { return &metered{conn, &u.sent} }
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("n%03d", i)
		c.node(hosts[i]).logger = hclog.NewNullLogger()
	}
	each := func(x float64) float64 { return x / float64(n) }
	f := figures{nodes: n}

	empty := u.read()
	for k := range hosts { // a few at a time, as all of them share the processors of one machine
		if k%scaleBatch == 0 {
			upto := min(k+scaleBatch, n)
			c.startAll(hosts[k:upto]...)
			awaitAgreement(t, c, hosts[:upto])
		}
	}
	took := u.read().since(empty)
	f.agree, f.agreeCPU, f.agreeBytes = took.wall, took.cpu/time.Duration(n), each(took.sent)
	awaitQuiet(t, c, hosts)

	began := u.read()
	f.goroutines = each(float64(began.goroutines - empty.goroutines))
	f.descriptors = each(float64(began.descriptors - empty.descriptors))
	f.memory = each(float64(began.memory) - float64(empty.memory))
	<-time.After(idle)
	took = u.read().since(began)
	f.idleBytes = each(took.sent) / took.wall.Seconds()
	f.idleCPU = each(took.cpu.Seconds()) / took.wall.Minutes()

	// The leader, so that the leadership moves twice.
	began = u.read()
	c.nodes[hosts[0]].kill()
	awaitAgreement(t, c, hosts[1:])
	c.nodes[hosts[0]].start()
	awaitAgreement(t, c, hosts)
	f.flap = u.read().since(began).wall
	awaitQuiet(t, c, hosts)
	took = u.read().since(began)
	f.flapBytes = max(0, each(took.sent)-f.idleBytes*took.wall.Seconds())
	f.flapCPU = time.Duration(max(0, each(took.cpu.Seconds())-f.idleCPU*took.wall.Minutes()) * float64(time.Second))
	return f
}

// scaleBatch is how many nodes are started at the same moment.
const scaleBatch = 8

// scalePatience is how long a hundred nodes on a small machine may take for anything.
const scalePatience = 5 * time.Minute

// awaitAgreement waits until all of the nodes, and no others, agree on each other and, if
// they are a majority, on the first one as the leader.
func awaitAgreement(t testing.TB, c *testCluster, hosts []string) {
	t.Helper()
	await(t, fmt.Sprintf("%d nodes agree", len(hosts)), func() bool {
		for _, h := range hosts {
			v := c.nodes[h].View()
			if 1+len(v.MutualAgreeing()) != len(hosts) || len(hosts) >= v.Quorum() && v.Leader() != hosts[0] {
				return false
			}
		}
		return true
	})
}

// awaitQuiet waits until nobody has had anything new to tell for a second.
func awaitQuiet(t testing.TB, c *testCluster, hosts []string) {
	t.Helper()
	var last uint64
	var since time.Time
	await(t, "nobody has anything to tell", func() bool {
		var sum uint64
		for _, h := range hosts {
			sum += c.nodes[h].table.versionNow()
		}
		if now := time.Now(); sum != last || since.IsZero() {
			last, since = sum, now
		}
		return time.Since(since) >= time.Second
	})
}

func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(scalePatience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", scalePatience, what)
		}
		<-tick.C
	}
}

// needDescriptors makes sure that this process may open so many files.
func needDescriptors(t testing.TB, n int) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	want := uint64(n)
	if limit.Cur >= want {
		return
	}
	limit.Cur, limit.Max = want, max(limit.Max, want)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skipf("%d descriptors are needed, and this process may not have them: %v", n, err)
	}
}

// usage tells what this process has used so far.
type usage struct {
	t    testing.TB
	sent atomic.Int64
}

// reading is what was used up to an instant, or between two.
type reading struct {
	at          time.Time
	wall, cpu   time.Duration
	sent        float64 // bytes
	memory      uint64  // bytes in use
	goroutines  int
	descriptors int
}

func (u *usage) read() reading {
	u.t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		u.t.Fatal(err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		u.t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{
		at: time.Now(), cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), sent: float64(u.sent.Load()),
		memory: m.HeapAlloc + m.StackInuse, goroutines: runtime.NumGoroutine(), descriptors: len(files),
	}
}

// since returns what was used between two readings; what is in use is the later one's.
func (r reading) since(before reading) reading {
	r.wall, r.cpu, r.sent = r.at.Sub(before.at), r.cpu-before.cpu, r.sent-before.sent
	return r
}

// metered counts what is sent.
type metered struct {
	net.Conn
	sent *atomic.Int64
}

func (m *metered) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.sent.Add(int64(n))
	return n, err
}
