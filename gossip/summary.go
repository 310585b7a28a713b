package gossip

import (
	"encoding/json"
	"math"
	"sort"
	"strconv"
	"unicode/utf8"
)

// JobSummary is one job in the fleet picture. It is for display only.
type JobSummary struct {
	Running bool
	Enabled bool
	// ScheduledIn is the number of seconds to the next firing; nil if there is none.
	ScheduledIn *float64
	Last        *LastRun // nil: never ran
}

// LastRun is the newest finished run of a job.
type LastRun struct {
	Outcome    string // success, failure or cancelled
	FinishedAt string // RFC 3339; at most 64 characters; "" if not known
	Duration   *float64
	ExitCode   *int
}

// The caps on summaries, sending and receiving.
const (
	maxSummaries   = 512
	maxFinishedLen = 64
)

// wireSummary is the form of a JobSummary on the wire.
type wireSummary struct {
	Running     bool     `json:"running"`
	Enabled     bool     `json:"enabled"`
	ScheduledIn *float64 `json:"scheduled_in"`
	Last        *wireRun `json:"last"`
}

type wireRun struct {
	Outcome    string   `json:"outcome"`
	FinishedAt *string  `json:"finished_at"`
	Duration   *float64 `json:"duration"`
	ExitCode   *int     `json:"exit_code"`
}

// capSummaries cuts a node's own summaries down to what may be sent: the first by
// sorted name. truncated is whether anything is missing.
func capSummaries(jobs map[string]JobSummary, already bool) (out map[string]JobSummary, truncated bool) {
	names := make([]string, 0, len(jobs))
	truncated = already
	for name := range jobs {
		if !printable(name, maxJobLen) {
			truncated = true
			continue
		}
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) > maxSummaries {
		names, truncated = names[:maxSummaries], true
	}
	out = make(map[string]JobSummary, len(names))
	for _, name := range names {
		out[name] = jobs[name]
	}
	return out, truncated
}

// encodeSummaries returns the wire form, dropping what JSON or the caps do not allow.
func encodeSummaries(jobs map[string]JobSummary) map[string]wireSummary {
	out := make(map[string]wireSummary, len(jobs))
	for name, j := range jobs {
		w := wireSummary{Running: j.Running, Enabled: j.Enabled, ScheduledIn: finite(j.ScheduledIn)}
		if l := j.Last; l != nil && knownOutcome(l.Outcome) {
			w.Last = &wireRun{Outcome: l.Outcome, Duration: finite(l.Duration), ExitCode: l.ExitCode}
			if printable(l.FinishedAt, maxFinishedLen) {
				w.Last.FinishedAt = &l.FinishedAt
			}
		}
		out[name] = w
	}
	return out
}

// decodeSummaries rebuilds a peer's summaries field by field: a bad entry is dropped,
// a bad field is left empty. nil means that the peer told none.
func decodeSummaries(raw json.RawMessage) map[string]JobSummary {
	if out, ok := decodeGoodSummaries(raw); ok {
		return out
	}
	entries := object(raw)
	if entries == nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for name := range entries {
		if printable(name, maxJobLen) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	out := make(map[string]JobSummary, min(len(names), maxSummaries))
	for _, name := range names[:min(len(names), maxSummaries)] {
		fields := object(entries[name])
		if fields == nil {
			continue
		}
		j := JobSummary{ScheduledIn: number(fields["scheduled_in"])}
		j.Running, _ = boolean(fields["running"])
		j.Enabled, _ = boolean(fields["enabled"])
		if last := object(fields["last"]); last != nil {
			outcome, _ := text(last["outcome"], maxNameLen)
			if knownOutcome(outcome) {
				run := &LastRun{Outcome: outcome, Duration: number(last["duration"])}
				run.FinishedAt, _ = text(last["finished_at"], maxFinishedLen)
				if code, ok := integer(last["exit_code"]); ok {
					run.ExitCode = &code
				}
				j.Last = run
			}
		}
		out[name] = j
	}
	return out
}

// decodeGoodSummaries reads summaries in one pass, as long as everything has the type it
// should have: the usual case, and ten times as fast. ok is false for any other.
func decodeGoodSummaries(raw json.RawMessage) (out map[string]JobSummary, ok bool) {
	var entries map[string]wireSummary
	if len(raw) == 0 || json.Unmarshal(raw, &entries) != nil || entries == nil || len(entries) > maxSummaries {
		return nil, false
	}
	out = make(map[string]JobSummary, len(entries))
	for name, w := range entries {
		if !printable(name, maxJobLen) {
			return nil, false
		}
		j := JobSummary{Running: w.Running, Enabled: w.Enabled, ScheduledIn: w.ScheduledIn}
		if w.Last != nil {
			if !knownOutcome(w.Last.Outcome) || (w.Last.FinishedAt != nil && !printable(*w.Last.FinishedAt, maxFinishedLen)) {
				return nil, false
			}
			j.Last = &LastRun{Outcome: w.Last.Outcome, Duration: w.Last.Duration, ExitCode: w.Last.ExitCode}
			if w.Last.FinishedAt != nil {
				j.Last.FinishedAt = *w.Last.FinishedAt
			}
		}
		out[name] = j
	}
	return out, true
}

func knownOutcome(s string) bool { return s == "success" || s == "failure" || s == "cancelled" }

// finite returns f unless it is a number that JSON does not have.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// The readers below take one field of a peer's JSON. A field that is absent, of another
// type or out of bounds gives "no information".

func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func array(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

func text(raw json.RawMessage, most int) (string, bool) {
	var s string
	// An escaped character can take twelve bytes at most.
	if len(raw) < 2 || raw[0] != '"' || len(raw) > 12*most+2 || json.Unmarshal(raw, &s) != nil || !printable(s, most) {
		return "", false
	}
	return s, true
}

func boolean(raw json.RawMessage) (value, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

func integer(raw json.RawMessage) (int, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	return int(n), err == nil
}

func number(raw json.RawMessage) *float64 {
	if len(raw) == 0 || len(raw) > 64 || !utf8.Valid(raw) || (raw[0] != '-' && (raw[0] < '0' || raw[0] > '9')) {
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return nil
	}
	return finite(&f)
}
