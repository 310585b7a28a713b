package scheduler

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/scheduler/run"
)

// ownNames are the variables that the agent tells its jobs. What an
// agent that was itself started as a job inherited of them says nothing about its jobs.
var ownNames = []string{
	"YACRON2_JOB_NAME", "YACRON2_FIRING", "YACRON2_ATTEMPT", "YACRON2_RUN_ID", "YACRON2_NODE", "YACRON2_FENCING_TOKEN",
}

// inheritedEnvironment returns what every job inherits: each name once, HOSTNAME always,
// and nothing that only a job is told.
func inheritedEnvironment(environ []string) []string {
	env := environment{index: make(map[string]int, len(environ)+1)}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			env.set(name, value)
		}
	}
	for _, name := range ownNames {
		env.unset(name)
	}
	if _, ok := env.index["HOSTNAME"]; !ok {
		if host, err := os.Hostname(); err == nil {
			env.set("HOSTNAME", host)
		}
	}
	kept := make([]string, 0, len(env.pairs))
	for _, pair := range env.pairs {
		if pair != "" {
			kept = append(kept, pair)
		}
	}
	return kept
}

// environment collects variables, of which a later one wins.
type environment struct {
	pairs []string // "" where one was removed
	index map[string]int
}

func (e *environment) set(name, value string) {
	pair := name + "=" + value
	if i, ok := e.index[name]; ok {
		e.pairs[i] = pair
		return
	}
	e.index[name] = len(e.pairs)
	e.pairs = append(e.pairs, pair)
}

func (e *environment) unset(name string) {
	if i, ok := e.index[name]; ok {
		e.pairs[i] = ""
		delete(e.index, name)
	}
}

// environmentOf returns the whole environment of an instance: what the agent has, then
// the account it runs as, then what is configured, then what the agent tells it.
func (d *Dispatcher) environmentOf(inst *instance) []string {
	job := inst.job
	own := inst.ownVariables(d.cfg.Node)
	changed := append(accountVariables(job.RunAs), job.Environment...)
	if len(changed) == 0 {
		pairs := make([]string, 0, len(d.environ)+len(own))
		pairs = append(pairs, d.environ...)
		for _, v := range own {
			pairs = append(pairs, v.Key+"="+v.Value)
		}
		return pairs
	}
	env := environment{
		pairs: make([]string, 0, len(d.environ)+len(changed)+len(own)),
		index: make(map[string]int, len(d.environ)+len(changed)+len(own)),
	}
	for _, pair := range d.environ {
		name, _, _ := strings.Cut(pair, "=")
		env.index[name] = len(env.pairs)
		env.pairs = append(env.pairs, pair)
	}
	for _, v := range changed {
		env.set(v.Key, v.Value)
	}
	for _, v := range own {
		env.set(v.Key, v.Value)
	}
	return env.pairs
}

// ownVariables is what the agent tells an instance about itself.
func (inst *instance) ownVariables(node string) []EnvVar {
	vars := make([]EnvVar, 0, len(ownNames))
	vars = append(vars,
		EnvVar{"YACRON2_JOB_NAME", inst.job.Name},
		EnvVar{"YACRON2_ATTEMPT", strconv.Itoa(inst.attempt)},
		EnvVar{"YACRON2_RUN_ID", inst.id},
		EnvVar{"YACRON2_NODE", node})
	if at := inst.at(); !at.IsZero() {
		vars = append(vars, EnvVar{"YACRON2_FIRING", at.Format(time.RFC3339)})
	}
	if inst.token != 0 {
		vars = append(vars, EnvVar{"YACRON2_FENCING_TOKEN", strconv.FormatUint(inst.token, 10)})
	}
	return vars
}

// accountVariables follow the user that a job runs as.
func accountVariables(as *RunAs) []EnvVar {
	if as == nil || as.Login == "" {
		return nil
	}
	vars := []EnvVar{{"HOME", as.Home}, {"USER", as.Login}, {"LOGNAME", as.Login}}
	if as.Shell != "" {
		vars = append(vars, EnvVar{"SHELL", as.Shell})
	}
	return vars
}

// spec describes the run of an instance.
func (d *Dispatcher) spec(inst *instance) run.Spec {
	job := inst.job
	return run.Spec{
		JobName: job.Name,
		Argv:    argv(job),
		Env:     d.environmentOf(inst),
		Dir:     job.WorkingDirectory,
		Cred:    credential(job.RunAs),

		CaptureStdout: job.CaptureStdout,
		CaptureStderr: job.CaptureStderr,
		SaveLimit:     job.SaveLimit,
		MaxLineLength: job.MaxLineLength,
		StreamPrefix:  job.StreamPrefix,

		ExecutionTimeout: job.ExecutionTimeout,
		KillTimeout:      job.KillTimeout,

		Stdout: d.cfg.Stdout,
		Stderr: d.cfg.Stderr,
		Logger: d.log,
	}
}

// argv is what a job executes.
func argv(job *Job) []string {
	switch {
	case job.Command.Argv != nil:
		return job.Command.Argv
	case job.Shell != "":
		return []string{job.Shell, "-c", job.Command.Line}
	case runtime.GOOS == "windows":
		shell := os.Getenv("ComSpec")
		if shell == "" {
			shell = "cmd.exe"
		}
		return []string{shell, "/c", job.Command.Line}
	}
	return []string{"/bin/sh", "-c", job.Command.Line}
}

// credential is the user that a run switches to; nil if it keeps the agent's.
func credential(as *RunAs) *run.Credential {
	if as == nil || as.UID == nil && as.GID == nil {
		return nil
	}
	c := &run.Credential{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Groups: as.Groups} //nolint:gosec // ids of the kernel
	if as.UID != nil {
		c.UID = *as.UID
	}
	if as.GID != nil {
		c.GID = *as.GID
	}
	return c
}

// newRunID returns an id that no other run has, on any node: 12 hex digits of time, so
// that ids sort by start, and 20 random ones.
func newRunID(now time.Time) string {
	var b [16]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // each byte in turn
	}
	rand.Read(b[6:]) // never fails
	return hex.EncodeToString(b[:])
}
