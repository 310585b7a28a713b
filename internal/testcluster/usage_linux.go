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
func (n *Node) RSS() int64 {
	n.tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		n.tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				n.tb.Fatal(err)
			}
			return kB << 10
		}
	}
	n.tb.Fatalf("process %d has no VmRSS", n.PID())
	return 0
}
