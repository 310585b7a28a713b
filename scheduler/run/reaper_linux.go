package run

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

const (
	// reapAgain is when the reaper looks again after it met a zombie that is not
	// its own to take: its parent is about to.
	reapAgain = 20 * time.Millisecond

	// strangerGrace is how long a zombie of our own session is left to whoever
	// started it.
	strangerGrace = 10 * time.Second
)

// IsReaper reports whether orphans become children of this process.
func IsReaper() bool {
	if os.Getpid() == 1 {
		return true
	}
	var set int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&set)), 0, 0, 0) //nolint:gosec // the kernel writes an int there
	return err == nil && set != 0
}

// NewReaper starts to collect orphans, until Close. The logger may be nil.
func NewReaper(log hclog.Logger) *Reaper {
	r := &Reaper{
		own:    make(map[int]struct{}),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		logger: logger{Logger: log},
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() { // waited for in Close
		defer close(r.done)
		defer signal.Stop(ended)
		r.loop(ended)
	}()
	return r
}

func (r *Reaper) loop(ended <-chan os.Signal) {
	var again *time.Timer
	var stranger zombie
	for {
		var retry <-chan time.Time
		if !r.sweep(&stranger) {
			if again == nil {
				again = time.NewTimer(reapAgain)
				defer again.Stop()
			} else {
				again.Reset(reapAgain)
			}
			retry = again.C
		}
		select {
		case <-r.stop:
			return
		case <-ended:
		case <-retry:
		}
	}
}

// zombie is one that was left alone, and since when.
type zombie struct {
	pid   int
	since time.Time
}

// sweep collects until there is no zombie (true) or one that must be left alone for
// now. The kernel always shows the first zombie, so that one hides the others; it is
// gone in a moment, when its parent waits for it.
func (r *Reaper) sweep(stranger *zombie) (clean bool) {
	for {
		pid := firstZombie()
		if pid == 0 {
			*stranger = zombie{}
			return true
		}
		if !r.reap(pid, stranger) {
			return false
		}
	}
}

// reap takes the zombie unless it belongs to a run or to other code of this process.
func (r *Reaper) reap(pid int, stranger *zombie) bool {
	r.forking.Lock()
	defer r.forking.Unlock()
	if r.owns(pid) {
		return false
	}
	theirs, err := unix.Getsid(pid)
	ours, _ := unix.Getsid(0)
	if err == nil && theirs == ours {
		now := time.Now()
		if stranger.pid != pid {
			*stranger = zombie{pid: pid, since: now}
		}
		if now.Sub(stranger.since) < strangerGrace {
			return false
		}
	}
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	if got == pid && r.Logger != nil {
		r.Debug("reaped an orphan", "pid", pid, "exit_code", status.ExitStatus())
	}
	return got == pid || errors.Is(err, syscall.ECHILD) || errors.Is(err, syscall.EINTR)
}

// firstZombie returns a child that has ended, without taking its status; 0: none.
func firstZombie() int {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0
		}
		return siginfoPID(&info)
	}
}

// siginfoPID reads si_pid of a SIGCHLD. It follows the three ints that begin every
// siginfo_t, aligned as a pointer is.
func siginfoPID(info *unix.Siginfo) int {
	const offset = (3*4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset))) //nolint:gosec // within the siginfo, see above
}
