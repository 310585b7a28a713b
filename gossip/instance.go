package gossip

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"strconv"
)

// instanceLen is the length of an instance id in hex digits.
const instanceLen = 32

// newInstanceID returns a random instance id.
func newInstanceID() string {
	var b [instanceLen / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// validInstance reports whether s is an instance id as this package writes them.
func validInstance(s string) bool {
	if len(s) != instanceLen {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// memberlist wants an address for every member. Ours are labels: routing goes by
// instance id alone. The label follows from the id, so that nobody can plant another
// one (memberlist would then ignore the true member's messages as conflicting).

// labelPort is the port of every label.
const labelPort = 1

// labelIP returns the unique local IPv6 address that stands for an instance.
func labelIP(instance string) net.IP {
	ip := make(net.IP, net.IPv6len)
	raw, _ := hex.DecodeString(instance)
	copy(ip[1:], raw)
	ip[0] = 0xfd
	return ip
}

// labelAddr is a net.Addr that shows the label of an instance.
type labelAddr string

func (a labelAddr) Network() string { return "yacron2-gossip" }

func (a labelAddr) String() string {
	return net.JoinHostPort(labelIP(string(a)).String(), strconv.Itoa(labelPort))
}
