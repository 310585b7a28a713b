//go:build unix

package votes

import (
	"fmt"
	"syscall"
	"time"
)

// fillDisk sees a disk that is full for a while, as far as this process may write.
func fillDisk(path string, _ uint64) error {
	s, err := Open(Config{Path: path, NodeName: node})
	if err != nil {
		return err
	}
	if err := s.Append(batchOf(1, 0, 10)); err != nil {
		return err
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	// One byte more than nothing may be written to any file.
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: old.Max}); err != nil {
		return err
	}
	for batch := 1; batch <= 3; batch++ {
		if err := s.Append(batchOf(1, batch, 10)); err == nil {
			return fmt.Errorf("batch %d was appended to a full disk", batch)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := s.Append(batchOf(1, 4, 10)); err != nil {
		return fmt.Errorf("after the disk had room again: %w", err)
	}
	votes, _, _, err := s.Load()
	if err != nil {
		return err
	}
	for _, v := range votes {
		fmt.Println(v.Firing.At.Sub(instant(0))/time.Second, v.Firing.Job, v.InstanceID)
	}
	return s.Close()
}
