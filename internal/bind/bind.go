// Package bind says how the addresses of a configuration are bound.
package bind

import (
	"net/netip"
	"strings"
)

// TCP returns the network and the address to listen on for host:port. A host of "*" is
// every address of every family; 0.0.0.0, as any address of IPv4, is bound for IPv4 alone:
// whoever wrote it may have a firewall for nothing else.
func TCP(hostPort string) (network, address string) {
	if port, wild := strings.CutPrefix(hostPort, "*:"); wild {
		return "tcp", ":" + port
	}
	if a, err := netip.ParseAddrPort(hostPort); err == nil && a.Addr().Is4() {
		return "tcp4", hostPort
	}
	return "tcp", hostPort
}
