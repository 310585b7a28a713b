package scheduler

// Schedule is a parsed schedule.
type Schedule struct{}
