package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// stopLimit is how long the agents may take to stop; their jobs last less than a second.
const stopLimit = 10 * time.Second

// agent is one running agent. Its log goes to a file, what its jobs print to the
// terminal.
type agent struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process was waited for
}

func startAgent(binary, dir, name string, out *lineWriter) (*agent, error) {
	a := &agent{name: name, logFile: filepath.Join(dir, "log"), ended: make(chan struct{})}
	log, err := os.Create(a.logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	a.cmd = exec.Command(binary, "agent", "-config-dir", filepath.Join(dir, "config"))
	a.cmd.Stderr = log
	a.cmd.SysProcAttr = ownGroup()
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process, which stopAll ends and awaits
		defer close(a.ended)
		out.copy(fmt.Sprintf("%s | ", name), stdout)
		_ = a.cmd.Wait() // how it ended is in ProcessState
	}()
	pid := strconv.Itoa(a.pid()) + "\n"
	return a, os.WriteFile(filepath.Join(dir, "pid"), []byte(pid), 0o600)
}

func (a *agent) pid() int { return a.cmd.Process.Pid }

// state tells how an ended agent ended.
func (a *agent) state() string { return a.cmd.ProcessState.String() }

// log returns what the agent has logged, or why that can't be read.
func (a *agent) log() string {
	data, err := os.ReadFile(a.logFile)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// stopAll stops all agents at once and returns when they have ended.
func stopAll(agents []*agent) {
	for _, a := range agents {
		_ = a.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	for _, a := range agents {
		select {
		case <-a.ended:
			continue
		case <-limit.C:
			limit.Reset(0)
		}
		_ = a.cmd.Process.Kill()
		<-a.ended
	}
}

// lineWriter writes whole lines of several sources to one terminal.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, format+"\n", args...)
}

// copy writes the lines of r, each after prefix, until r ends.
func (l *lineWriter) copy(prefix string, r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		l.printf("%s%s", prefix, lines.Text())
	}
	_, _ = io.Copy(io.Discard, r) // past an overlong line: never hold up the agent
}
