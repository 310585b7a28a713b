package testcluster

import (
	"os"
	"os/exec"
	"time"
)

// Run is one run of a program.
type Run struct {
	Cmd    *exec.Cmd     // its ProcessState is set when Exited is closed
	Exited chan struct{} // closed when it has ended and was waited for
}

// Launch starts a program whose output is appended to a file, unless prepare, which may be
// nil, changes the command. Whoever starts it must see to it that it ends, in the test's
// cleanup at the latest.
func Launch(cmd *exec.Cmd, logFile string, prepare func(*exec.Cmd)) (*Run, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own descriptor
	cmd.Stdout, cmd.Stderr = log, log
	if prepare != nil {
		prepare(cmd)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &Run{Cmd: cmd, Exited: make(chan struct{})}
	go func() { // ends with the process
		defer close(r.Exited)
		_ = cmd.Wait() // how it ended stays in cmd.ProcessState
	}()
	return r, nil
}

// Running reports whether it has not ended yet; that of nil is false.
func (r *Run) Running() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.Exited:
		return false
	default:
		return true
	}
}

// Freeze stops the program's process and returns when it stands still: its threads go on
// for some milliseconds after the signal, which is long enough to answer a request. It
// keeps its connections.
func (r *Run) Freeze() error {
	if err := r.Cmd.Process.Signal(freeze); err != nil {
		return err
	}
	return Poll(Patience, time.Millisecond, func() error {
		if !r.Running() {
			return os.ErrProcessDone
		}
		return stopped(r.Cmd.Process.Pid)
	})
}

// Thaw ends a Freeze.
func (r *Run) Thaw() error { return r.Cmd.Process.Signal(thaw) }
