package netcluster

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// SetName lets a name mean an address on one host; an invalid address forgets the name.
func (n *Net) SetName(host, name string, addr netip.Addr) {
	n.tb.Helper()
	h := n.Host(host)
	if addr.IsValid() {
		h.names[name] = addr
	} else {
		delete(h.names, name)
	}
	if err := h.writeNames(); err != nil {
		n.tb.Fatal(err)
	}
}

// writeNames writes the table of names in place: a file that is bound over another one
// can't be replaced. It is never shorter than it was for a moment.
func (h *Host) writeNames() error {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, name := range slices.Sorted(maps.Keys(h.names)) {
		fmt.Fprintf(&b, "%s %s\n", h.names[name], name)
	}
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(b.String()), 0); err != nil {
		return err
	}
	return f.Truncate(int64(b.Len()))
}

// Move gives a host another address. On all hosts its name follows, if tell says so.
// Faults must have been healed: they go by address.
func (n *Net) Move(name, address string, tell bool) {
	n.tb.Helper()
	h := n.Host(name)
	addr, err := netip.ParseAddr(address)
	if err != nil {
		n.tb.Fatal(err)
	}
	// The old one first: what is added beside it would go with it.
	change := fmt.Sprintf("addr delete %s/%d dev %s\naddr add %s/%d dev %s\n", h.Addr, bits, cable, addr, bits, cable)
	if err := run(change, "ip", "-netns", h.space, "-batch", "-"); err != nil {
		n.tb.Fatal(err)
	}
	h.Addr = addr
	if tell {
		for _, other := range n.hosts {
			n.SetName(other.Name, name, addr)
		}
	}
}
