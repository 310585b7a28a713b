package agent

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// How often a client may present a wrong token: some at once, since a deployment may
// roll out a new one, and then one a second.
const (
	failuresAtOnce    = 30
	failuresPerSecond = 1.0
	failingClients    = 4096 // how many are remembered
)

// failureLimit slows down who guesses tokens. Clients are told apart by their address;
// a client over the limit is refused without a look at its token, or each answer would
// tell whether a guess was right.
type failureLimit struct {
	log hclog.Logger
	now func() time.Time

	mu      sync.Mutex
	clients map[string]*list.Element // of *failingClient
	order   list.List                // the one that failed longest ago first
}

// failingClient has as many failures left as it has credit.
type failingClient struct {
	name   string
	credit float64
	at     time.Time // when the credit was that
	warned bool
}

func newFailureLimit(log hclog.Logger, now func() time.Time) *failureLimit {
	return &failureLimit{log: log, now: now, clients: make(map[string]*list.Element)}
}

// refill adds what time has given back.
func (c *failingClient) refill(now time.Time) {
	c.credit = min(failuresAtOnce, c.credit+max(0, now.Sub(c.at).Seconds())*failuresPerSecond)
	c.at = now
}

// blocked returns how long a client has to wait, 0 if it may try.
func (f *failureLimit) blocked(client string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.clients[client]
	if e == nil {
		return 0
	}
	c := e.Value.(*failingClient)
	if c.refill(f.now()); c.credit >= 1 {
		return 0
	}
	return time.Duration((1 - c.credit) / failuresPerSecond * float64(time.Second))
}

// failed notes that a client presented a wrong token. A client without a name, which
// came by a unix socket, may do so at will.
func (f *failureLimit) failed(client string) {
	if client == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.clients[client]
	if e == nil {
		if len(f.clients) >= failingClients {
			oldest := f.order.Remove(f.order.Front()).(*failingClient)
			delete(f.clients, oldest.name)
		}
		e = f.order.PushBack(&failingClient{name: client, credit: failuresAtOnce, at: f.now()})
		f.clients[client] = e
	}
	f.order.MoveToBack(e)
	c := e.Value.(*failingClient)
	c.refill(f.now())
	c.credit--
	if c.credit < 1 && !c.warned {
		f.log.Warn("too many requests with a wrong token: they are refused for a while", "from", client)
	}
	c.warned = c.credit < 1 || c.warned && c.credit < failuresAtOnce/2
}

// clientOf names the client of a request for failureLimit: its address, or its network
// where one machine has as many addresses as it likes; "" behind a unix socket. Behind
// a proxy on this machine it is the one that the proxy names.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr.Unmap().IsLoopback() {
		forwarded := r.Header.Values("X-Forwarded-For")
		if len(forwarded) > 0 {
			last := forwarded[len(forwarded)-1]
			if behind, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
				addr = behind
			}
		}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.String()
		}
	}
	return addr.String()
}
