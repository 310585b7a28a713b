//go:build unix

package main

import "syscall"

// ownGroup puts a process into a process group of its own: Ctrl-C must reach this program
// alone, which then stops the agents.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
