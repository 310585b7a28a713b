package history

import "time"

// Stats sums up the retained runs of a job.
type Stats struct {
	Total, Success, Failure, Cancelled, Lost int

	// SuccessRate is successes by successes and failures, 0 to 1; nil if there was
	// neither.
	SuccessRate *float64

	// Durations are those of runs that were started, cancelled ones included; nil
	// if there is none. Runs that were lost have no known duration.
	Average, Min, Max *time.Duration

	// Last is the duration of the newest run, nil if it has none.
	Last *time.Duration
}

// StatsOf sums up runs, oldest first.
func StatsOf(runs []Run) Stats {
	s := Stats{Total: len(runs)}
	var sum, lowest, highest time.Duration
	timed := 0
	for i := range runs {
		switch runs[i].Outcome {
		case Success:
			s.Success++
		case Failure:
			s.Failure++
		case Cancelled:
			s.Cancelled++
		case Lost:
			s.Lost++
		}
		s.Last = nil
		d, ok := runs[i].Duration()
		if !ok || runs[i].Outcome == Lost {
			continue
		}
		s.Last = &d
		if timed == 0 {
			lowest, highest = d, d
		}
		timed++
		sum, lowest, highest = sum+d, min(lowest, d), max(highest, d)
	}
	if decided := s.Success + s.Failure; decided > 0 {
		rate := float64(s.Success) / float64(decided)
		s.SuccessRate = &rate
	}
	if timed > 0 {
		average := sum / time.Duration(timed)
		s.Average, s.Min, s.Max = &average, &lowest, &highest
	}
	return s
}
