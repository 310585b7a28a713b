package votes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/yacron2/yacron2/election"
)

// On a real file system of a few pages, which gets full, has room again, and can then
// only be read.
func TestFullFileSystem(t *testing.T) {
	// In a mount namespace of its own the process may mount what it likes, and all of it
	// is gone with the process.
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	o, err := startWith(t, attr, "tmpfs", filepath.Join(t.TempDir(), "votes.db"), 0)
	if err != nil {
		t.Skipf("this system lets the test mount nothing: %v", err)
	}
	out, err := io.ReadAll(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != "done" {
		t.Errorf("the process said %q", got)
	}
}

// fillTmpfs is the process of TestFullFileSystem.
func fillTmpfs(path string, _ uint64) error {
	dir := filepath.Dir(path)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		return fmt.Errorf("mounting a tmpfs: %w", err)
	}
	s, err := Open(Config{Path: path, NodeName: node})
	if err != nil {
		return err
	}
	var given []election.Vote
	next := func() []election.Vote { return batchOf(1, len(given), 50) }
	appendAll := func() error {
		for range 100 {
			votes := next()
			if err := s.Append(votes); err != nil {
				return err
			}
			given = append(given, votes...)
		}
		return nil
	}
	filler := filepath.Join(dir, "filler")
	for round := range 3 {
		if err := fillUp(filler); err != nil {
			return err
		}
		if err := appendAll(); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("round %d: error %v, want %w", round, err, syscall.ENOSPC)
		}
		if err := os.Remove(filler); err != nil {
			return err
		}
		votes := next()
		if err := s.Append(votes); err != nil {
			return fmt.Errorf("round %d: with room again: %w", round, err)
		}
		given = append(given, votes...)
		if err := s.Prune(election.Pruning{Votes: given[:len(given)-10]}); err != nil {
			return err
		}
		given = given[len(given)-10:]
	}
	if votes, _, _, err := s.Load(); err != nil || !slices.Equal(votes, given) {
		return fmt.Errorf("%d votes are there, want %d; %w", len(votes), len(given), err)
	}
	if err := s.Close(); err != nil {
		return err
	}

	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("remounting: %w", err)
	}
	if _, err := Open(Config{Path: path, NodeName: node}); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("opened on a read-only file system: %v, want %w", err, syscall.EROFS)
	}
	fmt.Println("done")
	return nil
}

// fillUp writes a file until there is no room for more.
func fillUp(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
