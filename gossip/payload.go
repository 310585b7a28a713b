package gossip

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yacron2/yacron2/election"
)

// maxRanJobs bounds the @reboot jobs told as run.
const maxRanJobs = 512

// wireState is what a node tells its peers: the delegate state, also served at /peer.
// Version counts the changes of everything above it; the rest is display only.
type wireState struct {
	NodeName       string       `json:"node_name"`
	InstanceID     string       `json:"instance_id"`
	JobSetID       string       `json:"job_set_id"`
	SchemeVersion  string       `json:"scheme_version"`
	ClusterSize    int          `json:"cluster_size"`
	Distribution   string       `json:"distribution"`
	ElectLeader    bool         `json:"elect_leader"`
	Members        []wireMember `json:"members"`
	MutualAgreeing []string     `json:"mutual_agreeing"`
	QuorateVouched []string     `json:"quorate_vouched"`
	RanRebootJobs  []string     `json:"ran_reboot_jobs"`
	// RebootHolders says for which instance the record of a one-shot stands.
	RebootHolders map[string]string `json:"reboot_holders,omitempty"`
	Stopping      bool              `json:"stopping,omitempty"`

	Version            uint64                 `json:"version"`
	Summaries          map[string]wireSummary `json:"job_summaries,omitempty"`
	SummariesTruncated bool                   `json:"job_summaries_truncated"`
}

type wireMember struct {
	NodeName   string `json:"node_name"`
	InstanceID string `json:"instance_id"`
	Agreed     bool   `json:"agreed"`
	Stopping   bool   `json:"stopping,omitempty"`
}

// wireReport returns the part of the state that elections rest on.
func wireReport(r election.Report) wireState {
	scheme, _, _ := strings.Cut(r.JobSetID, ":")
	w := wireState{
		NodeName: r.NodeName, InstanceID: r.InstanceID, JobSetID: r.JobSetID, SchemeVersion: scheme,
		ClusterSize: r.Size, Distribution: string(r.Policy), ElectLeader: r.ElectLeader != nil && *r.ElectLeader,
		MutualAgreeing: orEmpty(r.MutualAgreeing), QuorateVouched: orEmpty(r.QuorateVouched),
		RanRebootJobs: orEmpty(r.RanRebootJobs[:min(len(r.RanRebootJobs), maxRanJobs)]),
		Stopping:      r.Stopping,
		Members:       make([]wireMember, len(r.Members)),
	}
	for i, m := range r.Members {
		w.Members[i] = wireMember{NodeName: m.NodeName, InstanceID: m.InstanceID, Agreed: m.Agreed, Stopping: m.Stopping}
	}
	for _, job := range w.RanRebootJobs {
		if holder := r.RebootHolders[job]; holder != "" {
			if w.RebootHolders == nil {
				w.RebootHolders = make(map[string]string, len(w.RanRebootJobs))
			}
			w.RebootHolders[job] = holder
		}
	}
	return w
}

// orEmpty keeps an empty list from becoming null, which would read as "not told".
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// encode returns the JSON of w within maxStateBytes, leaving summaries out (and saying
// so) if they do not fit.
func (w wireState) encode() ([]byte, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	if len(data) <= maxStateBytes {
		return data, nil
	}
	w.Summaries, w.SummariesTruncated = nil, true
	if data, err = json.Marshal(w); err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	if len(data) > maxStateBytes {
		return nil, fmt.Errorf("the state has %d bytes: at most %d may be sent", len(data), maxStateBytes)
	}
	return data, nil
}

// state is the delegate state of a peer, bounded and checked.
type state struct {
	report    election.Report
	version   uint64
	summaries map[string]JobSummary // nil: none told
	truncated bool
}

var errNoName = errors.New("the peer's state has no readable node name")

// decodeState reads a peer's state. Only a state that is no JSON object, or that names
// no node, is an error; any other field that is not as it should be tells nothing.
func decodeState(data []byte) (state, error) {
	if len(data) > maxStateBytes {
		return state{}, fmt.Errorf("the peer's state has %d bytes: at most %d are allowed", len(data), maxStateBytes)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return state{}, errors.New("the peer's state cannot be read")
	}
	var s state
	var ok bool
	r := &s.report
	if r.NodeName, ok = text(fields["node_name"], maxNameLen); !ok {
		return state{}, errNoName
	}
	r.InstanceID, _ = text(fields["instance_id"], maxNameLen)
	r.JobSetID, _ = text(fields["job_set_id"], maxNameLen)
	if n, ok := integer(fields["cluster_size"]); ok && n > 0 {
		r.Size = n
	}
	if d, ok := text(fields["distribution"], maxNameLen); ok {
		switch d := election.Distribution(d); d {
		case election.SingleLeader, election.Spread:
			r.Policy = d
		}
	}
	if b, ok := boolean(fields["elect_leader"]); ok {
		r.ElectLeader = &b
	}
	r.Members = decodeMembers(fields["members"])
	r.MutualAgreeing = decodeSet(fields["mutual_agreeing"], maxSetLen, maxNameLen)
	r.QuorateVouched = decodeSet(fields["quorate_vouched"], maxSetLen, maxNameLen)
	r.RanRebootJobs = decodeSet(fields["ran_reboot_jobs"], maxRanJobs, maxJobLen)
	r.RebootHolders = decodeHolders(fields["reboot_holders"], r.RanRebootJobs)
	r.Stopping, _ = boolean(fields["stopping"])
	s.version, _ = strconv.ParseUint(string(fields["version"]), 10, 64)
	s.summaries = decodeSummaries(fields["job_summaries"])
	s.truncated, _ = boolean(fields["job_summaries_truncated"])
	return s, nil
}

// decodeMembers reads a members list; malformed entries are dropped one by one.
func decodeMembers(raw json.RawMessage) []election.Member {
	entries := array(raw)
	if entries == nil || len(entries) > maxSetLen {
		return nil
	}
	out := make([]election.Member, 0, len(entries))
	for _, e := range entries {
		fields := object(e)
		name, ok := text(fields["node_name"], maxNameLen)
		if !ok {
			continue
		}
		m := election.Member{NodeName: name}
		if m.InstanceID, ok = text(fields["instance_id"], maxNameLen); !ok {
			continue
		}
		m.Agreed, _ = boolean(fields["agreed"])
		m.Stopping, _ = boolean(fields["stopping"])
		out = append(out, m)
	}
	return out
}

// decodeHolders reads for whom the records of one-shots stand.
func decodeHolders(raw json.RawMessage, jobs []string) map[string]string {
	fields := object(raw)
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]string, len(jobs))
	for _, job := range jobs {
		if holder, ok := text(fields[job], maxNameLen); ok && validInstance(holder) {
			out[job] = holder
		}
	}
	return out
}

// decodeSet reads a list of names, each once; nil means that none was told.
func decodeSet(raw json.RawMessage, maxLen, maxText int) []string {
	entries := array(raw)
	if entries == nil || len(entries) > maxSetLen {
		return nil
	}
	out := make([]string, 0, min(len(entries), maxLen))
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		name, ok := text(e, maxText)
		if !ok || seen[name] || len(out) == maxLen {
			continue
		}
		seen[name] = true
		out = append(out, name)
	}
	return out
}
