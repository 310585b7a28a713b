package main

import "syscall"

// ownGroup puts a process into a process group of its own: Ctrl-C must reach this program
// alone, which then stops the agents.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
