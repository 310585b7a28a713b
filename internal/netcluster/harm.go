package netcluster

import (
	"slices"
	"syscall"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// Death is the end of a process by SIGKILL.
type Death struct {
	Node     string
	Instance string // "" if it had told none yet
	At       time.Time
}

// Absence is a time in which an agent did not run, was about to stop, or was frozen.
type Absence struct {
	Node     string
	From, To time.Time // To is zero while it lasts
	back     time.Time // when it was let go on; it is over when it has answered since
}

// Kill ends a node's agent by SIGKILL.
func (w *Watch) Kill(n *testcluster.Node) {
	d := Death{Node: n.NodeName, At: time.Now()}
	w.leave(n)
	n.Kill()
	if lives := instances(n); len(lives) > 0 {
		d.Instance = lives[len(lives)-1]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaths = append(w.deaths, d)
}

// Terminate tells a node's agent to stop by SIGTERM.
func (w *Watch) Terminate(n *testcluster.Node) {
	w.leave(n)
	n.Signal(syscall.SIGTERM)
}

// Freeze stops a node's agent until Thaw.
func (w *Watch) Freeze(n *testcluster.Node) {
	w.leave(n)
	n.Pause()
}

// Thaw lets a frozen agent go on.
func (w *Watch) Thaw(n *testcluster.Node) {
	n.Resume()
	w.comeBack(n)
}

// Start starts a node's agent again, after the end of the one before.
func (w *Watch) Start(n *testcluster.Node) {
	n.Start()
	w.comeBack(n)
}

// leave begins an absence.
func (w *Watch) leave(n *testcluster.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.absences = append(w.absences, &Absence{Node: n.NodeName, From: time.Now()})
}

// comeBack notes that the absence ends with the next answer.
func (w *Watch) comeBack(n *testcluster.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.absent(n); x != nil {
		x.back = time.Now()
	}
}

// answered ends an absence: the node has answered what was asked at that moment. w.mu is
// held.
func (w *Watch) answered(n *testcluster.Node, asked time.Time) {
	if x := w.absent(n); x != nil && !x.back.IsZero() && asked.After(x.back) {
		x.To = time.Now()
	}
}

// absent returns the absence of a node that lasts, nil if there is none. w.mu is held.
func (w *Watch) absent(n *testcluster.Node) *Absence {
	for _, x := range slices.Backward(w.absences) {
		if x.Node == n.NodeName {
			if x.To.IsZero() {
				return x
			}
			return nil
		}
	}
	return nil
}
