//go:build unix

package run

import (
	"io"
	"syscall"
)

// reader returns a function that waits for input and reads it. It takes a buffer
// from the pool only when the pipe is readable, so a silent stream costs none.
func (s *stream) reader() func() (*[chunkSize]byte, int, error) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return func() (*[chunkSize]byte, int, error) { return nil, 0, err }
	}
	var chunk *[chunkSize]byte
	var n int
	var readErr error
	ready := func(fd uintptr) bool {
		chunk = chunks.Get().(*[chunkSize]byte)
		for {
			n, readErr = syscall.Read(int(fd), chunk[:])
			if readErr != syscall.EINTR {
				break
			}
		}
		if readErr == syscall.EAGAIN {
			chunks.Put(chunk)
			chunk = nil
			return false
		}
		return true
	}
	return func() (*[chunkSize]byte, int, error) {
		chunk, n, readErr = nil, 0, nil
		if err := raw.Read(ready); err != nil {
			return nil, 0, err
		}
		if readErr == nil && n == 0 {
			readErr = io.EOF
		}
		return chunk, max(0, n), readErr
	}
}
