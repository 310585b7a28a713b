package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time that the running agent has used so far.
func (n *Node) CPU() time.Duration {
	n.tb.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", n.PID()))
	if err != nil {
		n.tb.Fatal(err)
	}
	var sum time.Duration
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if os.IsNotExist(err) {
			continue // a thread that ended since
		}
		if err != nil {
			n.tb.Fatal(err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			n.tb.Fatalf("%s: %v", task, err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// RSS returns the resident memory of the running agent in bytes.
func (n *Node) RSS() int64 { n.tb.Helper(); return n.memory("VmRSS:") }

// memory reads one line of the process's status.
func (n *Node) memory(key string) int64 {
	n.tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		n.tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				n.tb.Fatal(err)
			}
			return kB << 10
		}
	}
	n.tb.Fatalf("process %d has no %s", n.PID(), key)
	return 0
}

// PeakRSS returns the most memory that the running agent ever had resident, in bytes.
func (n *Node) PeakRSS() int64 { n.tb.Helper(); return n.memory("VmHWM:") }

// Descriptors returns how many files the running agent has open.
func (n *Node) Descriptors() int { n.tb.Helper(); return n.entries("fd") }

// Threads returns how many threads the running agent has.
func (n *Node) Threads() int { n.tb.Helper(); return n.entries("task") }

// entries counts what the kernel lists of the running agent.
func (n *Node) entries(list string) int {
	n.tb.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", n.PID(), list))
	if err != nil {
		n.tb.Fatal(err)
	}
	return len(entries)
}
