package run

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// launchFiles are the descriptors that a child is started with.
type launchFiles struct {
	fds [3]uintptr
	own []int // to be closed once the child has them
}

// null is /dev/null, open for all runs to come.
var null struct {
	mu   sync.Mutex
	open bool
	fd   int
}

// lowDescriptor is above those that null may keep. A fork needs numbers above all that
// it hands on; one that was opened when nearly all were in use would leave none.
const lowDescriptor = 64

// nullDevice returns /dev/null, and whether it is kept open.
func nullDevice() (fd int, kept bool, err error) {
	null.mu.Lock()
	defer null.mu.Unlock()
	if null.open {
		return null.fd, true, nil
	}
	fd, err = syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, false, os.NewSyscallError("open", err)
	}
	if fd < lowDescriptor {
		null.open, null.fd = true, fd
	}
	return fd, null.open, nil
}

// open makes /dev/null the standard files.
func (l *launch) open() error {
	fd, kept, err := nullDevice()
	if err != nil {
		return err
	}
	if !kept {
		l.own = append(l.own, fd)
	}
	for i := range l.fds {
		l.fds[i] = uintptr(fd)
	}
	return nil
}

// pipe makes number i the write end of a pipe that s reads.
func (l *launch) pipe(i int, s *stream) error {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	s.fd = p[0]
	l.fds[i] = uintptr(p[1])
	l.own = append(l.own, p[1])
	return nil
}

// inherit makes number i the same as f, unless that is closed.
func (l *launch) inherit(i int, f *os.File) {
	if fd := f.Fd(); int(fd) >= 0 {
		l.fds[i] = fd
	}
}

func (l *launch) close() {
	for _, fd := range l.own {
		syscall.Close(fd)
	}
}

// pipe is the read end of a stream. The reactor tells when there is something to
// read, and then one goroutine reads until there is nothing, or the end. So a silent
// stream costs a descriptor and nothing else.
type pipe struct {
	io      sync.Mutex // guards what follows and the stream's own reading
	fd      int        // -1: closed
	key     uint64     // in the reactor
	polled  bool       // the descriptor is in non-blocking mode
	pumping bool       // a goroutine reads
}

// ready is called by the reactor, which waits for its return.
func (s *stream) ready(events uint32) {
	s.io.Lock()
	if s.fd < 0 || s.pumping {
		s.io.Unlock()
		return
	}
	if events&unix.EPOLLIN != 0 || len(s.pending) > 0 {
		s.pumping = true
		s.io.Unlock()
		go s.pump() // ends with the input
		return
	}
	s.close()
	s.io.Unlock()
	s.finish()
}

// pump reads until there is nothing to read for now, or for ever.
func (s *stream) pump() {
	for {
		out := s.borrow()
		*out = (*out)[:0]
		s.io.Lock()
		again, ended := s.read(out)
		s.io.Unlock()
		s.emit(out)
		if ended {
			s.finish()
			return
		}
		if !again && s.rearm() {
			return
		}
	}
}

// read feeds one chunk; s.io is held. again: there may be more at once.
func (s *stream) read(out *[]byte) (again, ended bool) {
	if s.fd < 0 {
		return false, true
	}
	if !s.polled {
		s.polled = syscall.SetNonblock(s.fd, true) == nil
	}
	chunk := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(chunk)
	n, err := syscall.Read(s.fd, chunk[:])
	switch {
	case n > 0:
		*out = s.feed(*out, chunk[:n])
		return s.polled, false
	case err == syscall.EINTR:
		return true, false
	case err == syscall.EAGAIN:
		return false, false
	}
	s.close() // the end, or as good as that
	return false, true
}

// rearm waits for more by way of the reactor; false if pump has to go on.
func (s *stream) rearm() bool {
	s.io.Lock()
	defer s.io.Unlock()
	if s.fd < 0 {
		return false
	}
	s.pumping = false
	if s.process.reactor.modify(s.fd, s.key) == nil {
		return true
	}
	s.pumping = true
	waitReadable(s.fd)
	return false
}

// waitReadable waits a while in the kernel, for want of a reactor.
func waitReadable(fd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100) //nolint:gosec // a descriptor is an int of C
}

// close closes the read end; s.io is held.
func (s *stream) close() {
	if s.fd < 0 {
		return
	}
	s.process.reactor.forget(s.key)
	syscall.Close(s.fd)
	s.fd = -1
}

// discard gives up a stream whose run was not started.
func (s *stream) discard() {
	s.io.Lock()
	defer s.io.Unlock()
	s.close()
}

// cut closes the stream under whoever writes.
func (s *stream) cut() {
	s.io.Lock()
	defer s.io.Unlock()
	if s.fd < 0 {
		return
	}
	s.close()
	if !s.pumping {
		go s.finish() // it may be stuck in its last Write
	}
}
