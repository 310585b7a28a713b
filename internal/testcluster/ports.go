package testcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports must be known before an agent binds them, since each node's peer list names
// those of the others. Asking the kernel for a free one and closing it again would
// let another process, or an outgoing connection, take it meanwhile. So ports come
// from blocks below the range that kernels take for outgoing connections, a block
// belongs to the process that listens on its first port, and no port is handed out
// twice.
const (
	firstPort = 10000
	lastPort  = 32000
	blockSize = 200
)

// ports hands out this process's ports.
var ports portPool

type portPool struct {
	mu     sync.Mutex
	owners []net.Listener // of the blocks taken so far, open until the process ends
	next   int
	end    int
}

// FreePorts returns n ports of 127.0.0.1 that nobody listens on and that this process
// never hands out again.
func FreePorts(tb testing.TB, n int) []int {
	tb.Helper()
	free := make([]int, 0, n)
	for len(free) < n {
		port, err := ports.take()
		if err != nil {
			tb.Fatal(err)
		}
		free = append(free, port)
	}
	return free
}

func (p *portPool) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.next == p.end {
			if err := p.takeBlock(); err != nil {
				return 0, err
			}
		}
		port := p.next
		p.next++
		if l, err := net.Listen("tcp", loopback(port)); err == nil {
			return port, l.Close()
		}
	}
}

// takeBlock moves on to a block that no other test process has. The blocks before stay
// this process's, since their ports may be in use.
func (p *portPool) takeBlock() error {
	blocks := (lastPort - firstPort) / blockSize
	var errs []error
	for _, i := range rand.Perm(blocks) {
		first := firstPort + i*blockSize
		l, err := net.Listen("tcp", loopback(first))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.owners = append(p.owners, l)
		p.next, p.end = first+1, first+blockSize
		return nil
	}
	return fmt.Errorf("no block of ports is free: %w", errors.Join(errs...))
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
