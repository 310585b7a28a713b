package netcluster

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Net is hosts on one switch.
type Net struct {
	tb    testing.TB
	dir   string
	id    string // begins the names of its namespaces
	hosts []*Host

	mu    sync.Mutex
	links map[direction]fault // those that are not in order
}

// Host is a network namespace with one cable to the switch.
type Host struct {
	Name  string
	Addr  netip.Addr
	space string // name of the namespace
	names map[string]netip.Addr
	file  string // the table of names, bound over /etc/hosts
}

const (
	cable  = "cable" // the device of a host
	subnet = "10.77.0"
	bits   = 24
)

// nets numbers the networks of this process.
var nets struct {
	sync.Mutex // also keeps "ip netns" from being run twice at a time
	made       int
}

// New makes a network of hosts that all reach each other, by name too.
func New(tb testing.TB, names ...string) *Net {
	tb.Helper()
	Require(tb)
	nets.Lock()
	defer nets.Unlock()
	if nets.made++; nets.made == 1 {
		if err := sweep(); err != nil {
			tb.Fatal(err)
		}
	}
	n := &Net{
		tb: tb, dir: tb.TempDir(), id: fmt.Sprintf("%s%d-%d-", prefix, os.Getpid(), nets.made),
		links: make(map[direction]fault),
	}
	tb.Cleanup(n.remove)
	for i, name := range names {
		h := &Host{
			Name: name, Addr: netip.MustParseAddr(fmt.Sprintf("%s.%d", subnet, i+1)),
			space: n.id + strconv.Itoa(i), file: filepath.Join(n.dir, name+".hosts"),
		}
		n.hosts = append(n.hosts, h)
	}
	if err := n.build(); err != nil {
		tb.Fatal(err)
	}
	return n
}

func (n *Net) switchSpace() string { return n.id + "switch" }

// build makes the namespaces, cables and tables.
func (n *Net) build() error {
	var spaces, ports strings.Builder
	fmt.Fprintf(&spaces, "netns add %s\n", n.switchSpace())
	ports.WriteString("link add switch type bridge mcast_snooping 0\nlink set switch up\n")
	for i, h := range n.hosts {
		fmt.Fprintf(&spaces, "netns add %s\n", h.space)
		fmt.Fprintf(&ports, "link add port%d type veth peer name %s netns %s\n", i, cable, h.space)
		fmt.Fprintf(&ports, "link set port%d master switch up\n", i)
	}
	if err := run(spaces.String(), "ip", "-batch", "-"); err != nil {
		return err
	}
	if err := run(ports.String(), "ip", "-netns", n.switchSpace(), "-batch", "-"); err != nil {
		return err
	}
	for _, h := range n.hosts {
		up := fmt.Sprintf("addr add %s/%d dev %s\nlink set %s up\nlink set lo up\n", h.Addr, bits, cable, cable)
		if err := run(up, "ip", "-netns", h.space, "-batch", "-"); err != nil {
			return err
		}
		h.names = make(map[string]netip.Addr)
		for _, other := range n.hosts {
			h.names[other.Name] = other.Addr
		}
		if err := h.writeNames(); err != nil {
			return err
		}
	}
	// Where no name server answers, asking one takes no time.
	return os.WriteFile(n.resolver(), []byte("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"), 0o644)
}

func (n *Net) resolver() string { return filepath.Join(n.dir, "resolv.conf") }

// Host returns the host of that name.
func (n *Net) Host(name string) *Host {
	n.tb.Helper()
	for _, h := range n.hosts {
		if h.Name == name {
			return h
		}
	}
	n.tb.Fatalf("no host %s", name)
	return nil
}

// Prefix returns the words that run a program on a host: its own follow them. The
// process that runs them becomes the program.
func (n *Net) Prefix(name string) []string {
	n.tb.Helper()
	const script = `mount --bind "$0" /etc/hosts
		if [ -e /etc/resolv.conf ]; then mount --bind "$1" /etc/resolv.conf; fi
		shift; exec "$@"`
	h := n.Host(name)
	return []string{"ip", "netns", "exec", h.space, "sh", "-e", "-c", script, h.file, n.resolver()}
}

// prefix begins the names of all namespaces that this package makes. The number behind it
// is the process that made them.
const prefix = "yacron2-"

// remove takes the network down. Whatever still runs on its hosts was started there by
// the agents, and is ended.
func (n *Net) remove() {
	nets.Lock()
	defer nets.Unlock()
	for _, space := range append([]string{n.switchSpace()}, n.spaces()...) {
		if err := removeSpace(space); err != nil {
			n.tb.Error(err)
		}
	}
}

func (n *Net) spaces() []string {
	var spaces []string
	for _, h := range n.hosts {
		spaces = append(spaces, h.space)
	}
	return spaces
}

// spacesDir is where the system has the names of namespaces.
const spacesDir = "/run/netns"

// removeSpace removes a namespace, if it exists, after ending the processes in it.
func removeSpace(space string) error {
	if _, err := os.Stat(filepath.Join(spacesDir, space)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	out, err := exec.Command("ip", "netns", "pids", space).Output()
	if err != nil {
		return fmt.Errorf("processes of %s: %w", space, err)
	}
	for _, word := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
		}
	}
	return run("", "ip", "netns", "delete", space)
}

// sweep removes what test processes have left behind that were killed.
func sweep() error {
	entries, err := os.ReadDir(spacesDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, _ := strings.Cut(rest, "-")
		maker, err := strconv.Atoi(number)
		if !ours || err != nil || maker <= 0 {
			continue
		}
		if err := syscall.Kill(maker, 0); errors.Is(err, syscall.ESRCH) {
			errs = append(errs, removeSpace(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// run runs a program with input and returns what it complains about.
func run(input, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}
