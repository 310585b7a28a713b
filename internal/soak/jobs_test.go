//go:build linux

package soak

import (
	"fmt"
	"strings"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

const (
	jobs = 200
	// deadline is the startingDeadline of all Leader jobs.
	deadline = 10 * time.Second
	// period is how often most jobs fire; every fifth one fires half as often.
	period = 10 * time.Second
	// cycle is when all goes on as before: a run that forbids others keeps the next
	// firing from running, not the one after it.
	cycle = 2 * period
)

// kind is a way for a job to behave.
type kind struct {
	name    string
	command string // after the job has written into the journal
	more    string
	lasts   time.Duration // of a run, where it forbids another
}

// kinds returns the ways for jobs to behave. A run that lasts longer than the period
// meets the next firing. Where that changes what becomes of the next one, only the runs of
// every second firing last so long: else jobs would forbid their odd firings or their even
// ones, as the last fault left them, and an agent would hold more or less for that.
func kinds() []kind {
	long := fmt.Sprintf("sleep %d", int(period.Seconds())+3)
	second := `case "$YACRON2_FIRING" in *:[024]0Z) ` + long + `;; esac`
	return []kind{
		{name: "quick", command: "true"},
		{name: "allow", command: long, more: "concurrencyPolicy: Allow\n"},
		{name: "forbid", command: second, more: "concurrencyPolicy: Forbid\n", lasts: period + 3*time.Second},
		{name: "replace", command: second, more: "concurrencyPolicy: Replace\nkillTimeout: 2\n", lasts: period + 3*time.Second},
		{name: "failing", command: "exit 3"},
		{name: "retried", command: "exit 4",
			more: "onFailure:\n  retry: {maximumRetries: 2, initialDelay: 1, maximumDelay: 2, backoffMultiplier: 1}\n"},
		{name: "chatty", command: `i=0; while [ $i -lt 60 ]; do echo "line $i of a job that says much"; i=$((i+1)); done; echo done >&2`,
			more: "captureStdout: true\ncaptureStderr: true\nfailsWhen: {producesStdout: false, producesStderr: false}\n"},
		{name: "silent", command: "exec >/dev/null; sleep 1", more: "captureStdout: true\nconcurrencyPolicy: Forbid\n", lasts: time.Second},
		{name: "limited", command: "sleep 60", more: "executionTimeout: 1\nkillTimeout: 1\n"},
		{name: "listed", command: "cat", more: "captureStdout: true\nenvironment: [{key: COLOUR, value: blue}]\n"},
	}
}

// policies are dealt out in this order: half of the jobs are Leader's.
var policies = []string{"Leader", "EveryNode", "Leader", "PreferLeader"}

// plan returns all jobs, and when those of policy Leader fire.
func plan(j testcluster.Journal) ([]testcluster.Job, []netcluster.Timing) {
	var all []testcluster.Job
	var timings []netcluster.Timing
	ways := kinds()
	for i := range jobs {
		// 4 policies and 10 kinds have a factor in common; the division shifts them
		// against each other, so that each policy meets each kind.
		k, policy := ways[i%len(ways)], policies[(i+i/len(ways))%len(policies)]
		every := period
		if i%5 == 4 {
			every = cycle
		}
		name := fmt.Sprintf("%s-%s-%03d", strings.ToLower(policy), k.name, i)
		all = append(all, testcluster.Job{
			Name: name, Policy: policy, Command: j.Write() + "; " + k.command,
			Schedule: fmt.Sprintf("*/%d * * * * * *", int(every.Seconds())),
			More:     k.more + fmt.Sprintf("startingDeadline: %d\n", int(deadline.Seconds())),
		})
		if policy == "Leader" {
			timings = append(timings, netcluster.Timing{Job: name, Period: every, Deadline: deadline, Lasts: k.lasts})
		}
	}
	return all, timings
}

// changed returns the jobs with one that differs from version to version, and one that is
// there in every second version only.
func changed(all []testcluster.Job, version int) []testcluster.Job {
	extra := []testcluster.Job{{
		Name: "changing", Policy: "Leader", Command: "true",
		More: fmt.Sprintf("environment: [{key: VERSION, value: \"%d\"}]\n", version),
	}}
	if version%2 == 0 {
		extra = append(extra, testcluster.Job{Name: "coming-and-going", Policy: "EveryNode", Command: "true"})
	}
	return append(extra, all...)
}
