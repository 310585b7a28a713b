package run

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupsAge is how old the shared picture of the living groups may be.
const groupsAge = 10 * time.Millisecond

// groups tells which process groups have living members. To the kernel a group of
// zombies still exists, and how long its zombies stay is up to an init process that
// may be slow; a cancelled run should not wait for that. The picture is shared, so
// that ending a thousand runs at once does not read /proc for each of them.
var groups groupTable

type groupTable struct {
	mu     sync.Mutex // guards what follows; held while reading /proc
	taken  time.Time
	living map[int]bool // by group; nil: unknown
}

// lives reports whether a group that exists has a member that is not a zombie.
func (g *groupTable) lives(pgid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.taken) > groupsAge {
		g.living = livingGroups()
		g.taken = now
	}
	return g.living == nil || g.living[pgid]
}

// livingGroups looks at all processes; nil if /proc does not show them.
func livingGroups() map[int]bool {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	living := make(map[int]bool)
	self := false
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		self = self || pid == os.Getpid()
		pgid, err := unix.Getpgid(pid)
		if err != nil {
			continue
		}
		if !living[pgid] && !isZombie(name) {
			living[pgid] = true
		}
	}
	if !self { // the /proc of another pid namespace, or none
		return nil
	}
	return living
}

// isZombie reads the state of a process, which follows its name in parentheses.
func isZombie(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return true // gone
	}
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	return len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'X')
}

// groupLives reports whether the group has members that are not zombies.
func (c *child) groupLives() bool {
	return !errors.Is(c.signal(0), syscall.ESRCH) && groups.lives(c.pid)
}
