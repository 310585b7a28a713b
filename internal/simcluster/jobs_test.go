package simcluster

import (
	"fmt"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// The jobs of the simulated nodes.
const (
	jobTick  = "tick"  // Leader, often; it is the one that reloads move and rename
	jobTock  = "tock"  // its other name
	jobSolo  = "solo"  // Leader, must not overlap, takes long
	jobFlaky = "flaky" // Leader, fails and is tried again
	jobCheap = "cheap" // PreferLeader
	jobAll   = "all"   // EveryNode
	jobBoot  = "boot"  // Leader, @reboot
)

// simDeadline is the startingDeadline of all jobs.
const simDeadline = 8 * time.Second

// versions is how many versions of the jobs there are. In the second one a Leader job
// has another schedule, in the third one another name, in the fourth only a job of every
// node differs, and the last one lacks a job.
const versions = 5

// period is how often a job fires in the first version, in whole minutes 0 and 11.
var period = map[string]time.Duration{
	jobTick: 2 * time.Second, jobSolo: 3 * time.Second, jobFlaky: 5 * time.Second, jobCheap: 2 * time.Second,
}

// jobsOf returns a version of the jobs.
func jobsOf(version int) []*scheduler.Job {
	tick, often, all, flaky := jobTick, "*/2", "*/4", true
	switch version {
	case 1:
		often = "1-59/3"
	case 2:
		tick = jobTock
	case 3:
		all = "*/6"
	case 4:
		flaky = false
	}
	jobs := []*scheduler.Job{
		job(tick, often, election.Leader, nil),
		job(jobSolo, "*/3", election.Leader, func(j *scheduler.Job) { j.ConcurrencyPolicy = scheduler.Forbid }),
		job(jobCheap, "*/2", election.PreferLeader, nil),
		job(jobAll, all, election.EveryNode, nil),
		job(jobBoot, "@reboot", election.Leader, nil),
	}
	if flaky {
		jobs = append(jobs, job(jobFlaky, "*/5", election.Leader, func(j *scheduler.Job) {
			j.Retry = scheduler.Retry{Maximum: 4, InitialDelay: time.Second, MaximumDelay: 2 * time.Second, Multiplier: 1.5}
		}))
	}
	return jobs
}

func job(name, seconds string, policy election.Policy, change func(*scheduler.Job)) *scheduler.Job {
	text := seconds
	if seconds != "@reboot" {
		// Two stretches of a minute with time between them in which votes expire.
		text = seconds + " 0,11 * * * * *"
	}
	s, err := scheduler.ParseSchedule(text, scheduler.DayMatchAnd)
	if err != nil {
		panic(err) // a constant
	}
	j := &scheduler.Job{
		Name: name, Command: scheduler.Command{Line: "true"}, Enabled: true, Schedule: s, ScheduleText: text,
		UTC: true, Timezone: "UTC", Location: time.UTC, ConcurrencyPolicy: scheduler.Allow, ClusterPolicy: policy,
		StartingDeadline: simDeadline, KillTimeout: time.Second, SaveLimit: 1, MaxLineLength: 100,
		FailsWhen: scheduler.FailsWhen{NonzeroReturn: true},
	}
	if change != nil {
		change(j)
	}
	return j
}

// setOf returns what voters know of a version.
func setOf(version int) jobSet {
	s := jobSet{id: fmt.Sprintf("v1:%d", version), leader: map[string]bool{}, forbid: map[string]bool{}}
	for _, j := range jobsOf(version) {
		s.leader[j.Name] = j.ClusterPolicy == election.Leader
		s.forbid[j.Name] = s.leader[j.Name] && j.ConcurrencyPolicy != scheduler.Allow
	}
	return s
}
