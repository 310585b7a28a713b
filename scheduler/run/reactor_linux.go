package run

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reactor waits for the ends of all processes and for the output of all runs in one
// place: an epoll instance of our own, which is itself in the network poller, so that
// no thread is blocked, and one goroutine. Compared with an os.File and a goroutine for
// every descriptor, that spares each run most of what it costs beyond its fork.
//
// Every descriptor is armed for one event at a time: a closed one may live on for a
// moment in a child between fork and exec, and must not spin.
type reactor struct {
	epoll int
	file  *os.File // owns epoll

	users int // runs; guarded by the mutex of reactors

	mu      sync.Mutex // guards what follows
	last    uint64     // key handed out
	sources map[uint64]source
}

// source is what an event is for.
type source interface {
	ready(events uint32)
}

// reactors holds the one reactor while there are runs.
var reactors struct {
	mu      sync.Mutex
	current *reactor
}

// joinReactor returns the reactor, and starts it for the first run.
func joinReactor() (*reactor, error) {
	reactors.mu.Lock()
	defer reactors.mu.Unlock()
	if r := reactors.current; r != nil {
		r.users++
		return r, nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	r := &reactor{epoll: fd, file: os.NewFile(uintptr(fd), "epoll"), users: 1, sources: make(map[uint64]source)}
	reactors.current = r
	go r.loop() // ends with the last run
	return r, nil
}

// leave ends the reactor with its last run.
func (r *reactor) leave() {
	reactors.mu.Lock()
	defer reactors.mu.Unlock()
	if r.users--; r.users == 0 {
		reactors.current = nil
		r.file.Close()
	}
}

// add waits for one event of a descriptor and returns its key.
func (r *reactor) add(fd int, s source) (key uint64, err error) {
	r.mu.Lock()
	r.last++
	key = r.last
	r.sources[key] = s
	r.mu.Unlock()
	if err := r.control(unix.EPOLL_CTL_ADD, fd, key); err != nil {
		r.forget(key)
		return 0, err
	}
	return key, nil
}

// modify waits for one more event.
func (r *reactor) modify(fd int, key uint64) error { return r.control(unix.EPOLL_CTL_MOD, fd, key) }

// forget drops a descriptor, which is closed next.
func (r *reactor) forget(key uint64) {
	r.mu.Lock()
	delete(r.sources, key)
	r.mu.Unlock()
}

func (r *reactor) control(op, fd int, key uint64) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(key), Pad: int32(key >> 32)} //nolint:gosec // both halves of the key, which lookUp joins
	return unix.EpollCtl(r.epoll, op, fd, &event)
}

// loop handles events until the reactor is closed.
func (r *reactor) loop() {
	raw, err := r.file.SyscallConn()
	if err != nil {
		return // closed
	}
	events := make([]unix.EpollEvent, 128)
	var n int
	wait := func(fd uintptr) bool {
		for {
			var err error
			if n, err = unix.EpollWait(int(fd), events, 0); !errors.Is(err, syscall.EINTR) {
				return n != 0 || err != nil
			}
		}
	}
	due := make([]source, 0, len(events))
	for raw.Read(wait) == nil {
		if n < 0 {
			return // not an epoll instance any more
		}
		due = r.lookUp(events[:n], due[:0])
		// Streams first: a process that has ended has closed them before, so its
		// run can be ended at once.
		for i, s := range due {
			if s, ok := s.(*stream); ok {
				s.ready(events[i].Events)
			}
		}
		for i, s := range due {
			if p, ok := s.(*Process); ok {
				p.ready(events[i].Events)
			}
		}
		clear(due)
	}
}

func (r *reactor) lookUp(events []unix.EpollEvent, due []source) []source {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		key := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32 //nolint:gosec // the bits of both halves
		s := r.sources[key]                                     // nil: gone
		if _, ok := s.(*Process); ok {
			delete(r.sources, key) // ends once
		}
		due = append(due, s)
	}
	return due
}
