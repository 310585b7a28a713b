package agent

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/yacron2/yacron2/agent/config"
)

// hostNames are the names by which an agent without tokens may be asked.
//
// A page that somebody visits can have its own name lead to another address after it was
// loaded, to this machine for instance. The browser then takes the agent for the page's
// own site, and the page may read and start what it likes. What it can't choose is the
// Host header, which goes on to have the page's name. So an agent that asks for no token
// answers to names alone that no stranger can have: addresses, which need no look-up, names
// that it was given, and those that public DNS does not know. With tokens, and over TLS,
// a strange name is of no use, since the page has no token, and the certificate is not for it.
type hostNames struct {
	own map[string]bool
	any bool
}

// newHostNames returns the names of a configuration, of the machine and of the node.
func newHostNames(web *config.Web, node string) *hostNames {
	h := &hostNames{own: map[string]bool{}}
	add := func(name string) {
		if name != "" {
			h.own[plainHost(name)] = true
		}
	}
	add(node)
	if machine, err := os.Hostname(); err == nil {
		add(machine)
	}
	if web == nil {
		return h
	}
	for _, l := range web.Listen {
		if host, _, err := net.SplitHostPort(l.Address); err == nil {
			add(host)
		}
	}
	for _, name := range web.Hosts {
		h.any = h.any || name == "*"
		add(name)
	}
	return h
}

// localNames are top-level domains that public DNS has not, and will not have.
var localNames = []string{"localhost", "local", "internal", "home.arpa"}

// admits reports whether a request may have come by the name in its Host header.
func (h *hostNames) admits(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := local.(*net.TCPAddr)
	if !ok || r.TLS != nil || h.any {
		return true // no browser speaks to a unix socket
	}
	name := hostOf(r.Host)
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || h.own[name] {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for rest := name; ; {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			break
		}
		if rest = after; h.own["*."+rest] {
			return true
		}
	}
	// A neighbour in the network can have any name that only the network knows. It
	// reaches what listens to the network anyway, but not what listens to this machine.
	if tcp.IP.IsLoopback() {
		return false
	}
	if !strings.Contains(name, ".") {
		return true
	}
	for _, domain := range localNames {
		if strings.HasSuffix(name, "."+domain) {
			return true
		}
	}
	return false
}

// hostOf returns the name or the address in a Host header, without a port.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		header = host
	}
	return plainHost(strings.TrimSuffix(strings.TrimPrefix(header, "["), "]"))
}

// plainHost writes a host in the one way in which hosts are compared.
func plainHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// refuseHost answers a request that came by the name of somebody else.
func refuseHost(w http.ResponseWriter, r *http.Request) {
	plainText(w, r, http.StatusMisdirectedRequest, "this agent does not answer to the name "+quoteName(hostOf(r.Host))+
		": without tokens, pages of other sites could reach it by names of theirs; "+
		"if the name is yours, add it to web.hosts, or protect the agent by web.tokens")
}
