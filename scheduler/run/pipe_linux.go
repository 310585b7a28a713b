package run

import (
	"os"
	"syscall"
)

// newPipe returns a pipe with a read end for the network poller and a plain write
// end for the child. (os.Pipe would register both.)
func newPipe() (r, w *os.File, err error) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := syscall.SetNonblock(p[0], true); err != nil {
		syscall.Close(p[0])
		syscall.Close(p[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(p[0]), "read end"), os.NewFile(uintptr(p[1]), "write end"), nil
}
