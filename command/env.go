package command

import (
	"fmt"
	"io"
	"os"
	"time"
)

// The exit codes of commands.
const (
	exitOK     = 0
	exitFailed = 1
	exitMisuse = 2
	exitNo     = 2 // the answer to a question is no
)

// Env is what a command sees of the process around it.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// ConfigDirs are where the configuration is looked for if nothing is said: the
	// first that exists. The last is the one that older versions knew.
	ConfigDirs []string
}

// ProcessEnv returns the environment of this process.
func ProcessEnv() Env {
	return Env{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
		ConfigDirs: []string{"/etc/yacron2", "/etc/yacron2.d"},
	}
}

// printf writes a result. A reader that went away is nobody's loss.
func (e *Env) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stdout, format, args...)
}

// errorf reports what went wrong, in one line.
func (e *Env) errorf(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stderr, "error: "+format+"\n", args...)
}

// warnf reports what is odd, in one line.
func (e *Env) warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stderr, "warning: "+format+"\n", args...)
}

// hintf says what to do instead, in one line.
func (e *Env) hintf(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stderr, "hint: "+format+"\n", args...)
}
