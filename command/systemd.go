package command

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// The states that a service manager is told.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
	stateAlive    = "WATCHDOG=1"
)

// notifier tells systemd how the agent fares, by datagrams to the socket that the
// variable NOTIFY_SOCKET names. The zero value tells nobody.
type notifier struct {
	conn     net.Conn      // nil: nobody wants to know
	watchdog time.Duration // longest silence; 0: silence is fine
}

// newNotifier returns the notifier that the environment asks for.
func newNotifier(getenv func(string) string) (*notifier, error) {
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return &notifier{}, nil
	}
	conn, err := net.Dial("unixgram", path)
	if err != nil {
		return &notifier{}, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	n := &notifier{conn: conn}
	// The variables are inherited by children, so they name whom they are meant for.
	pid := getenv("WATCHDOG_PID")
	if micros, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && micros > 0 &&
		(pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(micros) * time.Microsecond
	}
	return n, nil
}

// tell sends a state. Whether it arrives is the manager's business.
func (n *notifier) tell(state string) {
	if n.conn != nil {
		_, _ = n.conn.Write([]byte(state))
	}
}

// keepAlive tells that the agent is alive, at half of the longest silence allowed,
// whenever alive returns, until ctx ends.
func (n *notifier) keepAlive(ctx context.Context, alive func()) {
	if n.watchdog == 0 {
		return
	}
	tick := time.NewTicker(n.watchdog / 2)
	defer tick.Stop()
	for {
		alive()
		n.tell(stateAlive)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (n *notifier) close() {
	if n.conn != nil {
		_ = n.conn.Close()
	}
}
