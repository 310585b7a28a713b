package agent

import (
	"cmp"
	"strconv"
	"time"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler"
)

const (
	// crowd is the number of jobs from which on it is worth a word that they start
	// together.
	crowd = 10
	// lookedAt is how many of the coming firings are compared with those of all jobs.
	lookedAt = 12
	// sharingShown bounds the names of the jobs that have the same schedule.
	sharingShown = 100
	// foresight is how far ahead changes of the clock are looked for, and
	// changesShown how many of them are told.
	foresight    = 366 * 24 * time.Hour
	changesShown = 2
)

// Preview says when a schedule that is in no configuration would fire, beside the jobs of
// one: its next n firings after from, and what may surprise. The diagnostics have errors,
// and the preview means nothing, if the configuration would not take it.
func Preview(given []config.Given, jobs []*scheduler.Job, from time.Time, n int) (api.SchedulePreview, config.Diagnostics) {
	job, diags := config.Try(given, nil)
	if job == nil {
		return api.SchedulePreview{}, diags
	}
	p := api.SchedulePreview{
		Schedule: job.ScheduleText, Canonical: job.Schedule.Canonical(), Timezone: api.NullString(job.Timezone),
		Firings:  apiFirings(job, from, n),
		Warnings: parameterProblems(diags.Warnings()),
	}
	sharing := scheduler.SharedBy(jobs, job.Schedule, job.Timezone)
	p.JobsTotal, p.Jobs = len(sharing), sharing[:min(len(sharing), sharingShown)]
	p.Warnings = append(p.Warnings, surprises(job, jobs, from)...)
	return p, diags
}

// parameterProblems are problems of what is in no file: Key is the key as it was given, and
// Column the place in its text.
func parameterProblems(diags config.Diagnostics) []api.Problem {
	list := apiProblems(diags)
	for i := range list {
		p := &list[i]
		*p = api.Problem{Key: cmp.Or(p.File, p.Key), Column: p.Column, Message: p.Message, Hint: p.Hint}
	}
	return list
}

// apiFirings lists the next n firings of a job after an instant, by its schedule alone.
func apiFirings(j *scheduler.Job, from time.Time, n int) []api.Firing {
	var list []api.Firing
	for _, o := range scheduler.Upcoming(j.Schedule, j.Location, from, n) {
		list = append(list, api.Firing{At: api.At(o.At), Local: o.Local.Format(time.RFC3339), Note: api.NullString(o.Note)})
	}
	return list
}

// surprises are what the text of a schedule alone does not show.
func surprises(j *scheduler.Job, jobs []*scheduler.Job, from time.Time) []api.Problem {
	var list []api.Problem
	warn := func(key, message, hint string) {
		list = append(list, api.Problem{Key: key, Message: message, Hint: hint})
	}
	s := j.Schedule
	changes := scheduler.Changes(s, j.Location, from, from.Add(foresight))
	for _, c := range changes[:min(len(changes), changesShown)] {
		warn("timezone", "when the clock changes on "+c.At.Format(time.DateOnly)+": "+c.First.Note, "")
	}
	var instants []time.Time
	for _, o := range scheduler.Upcoming(s, j.Location, from, lookedAt) {
		instants = append(instants, o.At)
	}
	if at, together := scheduler.Busiest(jobs, instants); together >= crowd {
		warn("schedule", strconv.Itoa(together)+" jobs start at "+at.Format(time.RFC3339)+" as well", "another minute may be calmer")
	}
	return list
}
