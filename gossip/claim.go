package gossip

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/yacron2/yacron2/election"
)

// wireClaim is a claim request on the wire. Firings of one instant are one group; the
// answers follow the order of the groups.
type wireClaim struct {
	NodeName string      `json:"node_name"`
	Size     int         `json:"size"`
	JobSetID string      `json:"job_set_id"`
	Policy   string      `json:"policy"`
	Probe    bool        `json:"probe,omitempty"`
	Firings  []wireGroup `json:"firings"`
}

// wireGroup is the firings of one instant.
type wireGroup struct {
	At   string   `json:"at"` // RFC 3339 in UTC; "" for @reboot one-shots
	Jobs []string `json:"jobs"`
}

// wireAnswer answers a claim.
type wireAnswer struct {
	// Refusal, if not "", is the answer to every firing.
	Refusal string `json:"refusal,omitempty"`
	// Votes answers the firings one by one.
	Votes []wireVote `json:"votes,omitempty"`
	// Running names the jobs of the claim that run at the answering node.
	Running []string `json:"running,omitempty"`
}

// wireVote is one answer. A grant says so: what a peer leaves out, or writes in the way
// of a version that this one does not know, grants nothing.
type wireVote struct {
	Granted bool   `json:"g,omitempty"`
	Refusal string `json:"r,omitempty"`
	Holder  string `json:"h,omitempty"` // instance id
}

// groupFirings returns the firings in groups, keeping their order.
func groupFirings(firings []election.Firing) []wireGroup {
	var groups []wireGroup
	var last time.Time
	for i, f := range firings {
		if i == 0 || !f.At.Equal(last) {
			g := wireGroup{}
			if !f.Reboot() {
				g.At = f.At.UTC().Format(time.RFC3339Nano)
			}
			groups = append(groups, g)
			last = f.At
		}
		g := &groups[len(groups)-1]
		g.Jobs = append(g.Jobs, f.Job)
	}
	return groups
}

// firings returns the firings of a claim; an error means that the claim is malformed.
func (c *wireClaim) firings() ([]election.Firing, error) {
	n := 0
	for _, g := range c.Firings {
		n += len(g.Jobs)
	}
	if n > election.MaxFirings {
		return nil, fmt.Errorf("%d firings: at most %d are allowed", n, election.MaxFirings)
	}
	out := make([]election.Firing, 0, n)
	for _, g := range c.Firings {
		var at time.Time
		if g.At != "" {
			var err error
			if at, err = time.Parse(time.RFC3339Nano, g.At); err != nil || at.IsZero() {
				return nil, errors.New("an instant cannot be read")
			}
			at = at.UTC()
		}
		for _, job := range g.Jobs {
			if !printable(job, maxJobLen) {
				return nil, errors.New("a job name is not printable or too long")
			}
			out = append(out, election.Firing{Job: job, At: at})
		}
	}
	return out, nil
}

// decodeClaim checks a peer's claim. The instance is that of its session.
func decodeClaim(c *wireClaim, instance string) (election.ClaimRequest, error) {
	if c == nil {
		return election.ClaimRequest{}, errors.New("no claim")
	}
	firings, err := c.firings()
	if err != nil {
		return election.ClaimRequest{}, err
	}
	r := election.ClaimRequest{
		InstanceID: instance, Size: c.Size, Policy: election.Distribution(c.Policy), Probe: c.Probe, Firings: firings,
	}
	if printable(c.NodeName, maxNameLen) {
		r.NodeName = c.NodeName
	}
	if printable(c.JobSetID, maxNameLen) {
		r.JobSetID = c.JobSetID
	}
	return r, nil
}

// decodeRequest reads a request; an error means that it is malformed.
func decodeRequest(body []byte) (request, error) {
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return request{}, errors.New("the request cannot be read")
	}
	return q, nil
}

// encodeAnswer returns the wire form of a voter's answers.
func encodeAnswer(firings []election.Firing, answers []election.Answer) *wireAnswer {
	w := &wireAnswer{Votes: make([]wireVote, len(answers))}
	running := make(map[string]bool)
	for i, a := range answers {
		w.Votes[i] = wireVote{Granted: a.Granted(), Refusal: string(a.Refusal), Holder: a.Holder}
		if job := firings[i].Job; a.Running && !running[job] {
			running[job] = true
			w.Running = append(w.Running, job)
		}
	}
	return w
}

// decodeAnswer checks a peer's answer to the given firings.
func decodeAnswer(w *wireAnswer, firings []election.Firing) ([]election.Answer, error) {
	if w == nil {
		return nil, errors.New("the answer has no votes")
	}
	answers := make([]election.Answer, len(firings))
	if w.Refusal != "" {
		for i := range answers {
			answers[i].Refusal = election.ParseRefusal(w.Refusal)
		}
	} else {
		if len(w.Votes) != len(firings) {
			return nil, fmt.Errorf("%d answers to %d firings", len(w.Votes), len(firings))
		}
		for i, v := range w.Votes {
			answers[i].Refusal = election.ParseRefusal(v.Refusal)
			if answers[i].Granted() && !v.Granted {
				answers[i].Refusal = election.RefusedOther
			}
			if validInstance(v.Holder) {
				answers[i].Holder = v.Holder
			}
		}
	}
	running := make(map[string]bool, len(w.Running))
	for _, job := range w.Running {
		running[job] = true
	}
	for i, f := range firings {
		answers[i].Running = running[f.Job]
	}
	return answers, nil
}

// claimBytes bounds the size of one firing's part of a request.
func claimBytes(f election.Firing) int {
	return 6*utf8.RuneCountInString(f.Job) + len(f.Job) + 64
}

// splitClaim cuts a batch into what one request may carry.
func splitClaim(firings []election.Firing) [][]election.Firing {
	var parts [][]election.Firing
	start, size := 0, 0
	for i, f := range firings {
		n := claimBytes(f)
		if i > start && (size+n > maxRequest-4096 || i-start == election.MaxFirings) {
			parts = append(parts, firings[start:i])
			start, size = i, 0
		}
		size += n
	}
	if start < len(firings) {
		parts = append(parts, firings[start:])
	}
	return parts
}
