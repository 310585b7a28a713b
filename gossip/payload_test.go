package gossip

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/election"
)

// What is told arrives as it was.
func TestStateRoundTrip(t *testing.T) {
	elect := false
	r := election.Report{
		NodeName: "node é", InstanceID: newInstanceID(), JobSetID: "v1:abc", Size: 5, Policy: election.Spread, ElectLeader: &elect,
		Members: []election.Member{
			{NodeName: "a", InstanceID: "1", Agreed: true}, {NodeName: "b", InstanceID: "2"}, {NodeName: "c", InstanceID: "3", Agreed: true, Stopping: true},
		},
		MutualAgreeing: []string{"a"}, QuorateVouched: []string{}, RanRebootJobs: []string{"boot", "warm"},
		RebootHolders: map[string]string{"boot": newInstanceID()}, Stopping: true,
	}
	in, took, code := 12.5, 0.25, -1
	jobs := map[string]JobSummary{
		"never": {Enabled: true, ScheduledIn: &in},
		"ran":   {Running: true, Last: &LastRun{Outcome: "cancelled", FinishedAt: "2026-03-01T00:00:00Z", Duration: &took, ExitCode: &code}},
	}
	w := wireReport(r)
	w.Version, w.Summaries, w.SummariesTruncated = 7, encodeSummaries(jobs), true
	data, err := w.encode()
	if err != nil {
		t.Fatal(err)
	}
	s, err := decodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	if want := (state{report: r, version: 7, summaries: jobs, truncated: true}); !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// A field that is not as it should be tells nothing and spoils nothing else.
func TestStateDegrades(t *testing.T) {
	long := strings.Repeat("x", maxNameLen+1)
	many := `["` + strings.Repeat(`x","`, maxSetLen) + `y"]`
	for _, test := range []struct {
		field string
		get   func(state) any
		want  any
	}{
		{`"instance_id": 7`, func(s state) any { return s.report.InstanceID }, ""},
		{`"instance_id": "` + long + `"`, func(s state) any { return s.report.InstanceID }, ""},
		{`"job_set_id": "v1:\u0000"`, func(s state) any { return s.report.JobSetID }, ""},
		{`"cluster_size": true`, func(s state) any { return s.report.Size }, 0},
		{`"cluster_size": "3"`, func(s state) any { return s.report.Size }, 0},
		{`"cluster_size": 3.5`, func(s state) any { return s.report.Size }, 0},
		{`"cluster_size": -3`, func(s state) any { return s.report.Size }, 0},
		{`"cluster_size": 99999999999999999999`, func(s state) any { return s.report.Size }, 0},
		{`"distribution": "chaos"`, func(s state) any { return s.report.Policy }, election.Distribution("")},
		{`"elect_leader": 1`, func(s state) any { return s.report.ElectLeader }, (*bool)(nil)},
		{`"members": {}`, func(s state) any { return s.report.Members }, []election.Member(nil)},
		{`"members": null`, func(s state) any { return s.report.Members }, []election.Member(nil)},
		{`"members": []`, func(s state) any { return s.report.Members }, []election.Member{}},
		{`"members": [{"node_name":"a"}, 3, {"node_name":"b","instance_id":"i","agreed":"yes"}]`, func(s state) any { return s.report.Members }, []election.Member{{NodeName: "b", InstanceID: "i"}}},
		{`"mutual_agreeing": "b"`, func(s state) any { return s.report.MutualAgreeing }, []string(nil)},
		{`"mutual_agreeing": ["b", "b", 3, "\u001b"]`, func(s state) any { return s.report.MutualAgreeing }, []string{"b"}},
		{`"quorate_vouched": ` + many, func(s state) any { return s.report.QuorateVouched }, []string(nil)},
		{`"ran_reboot_jobs": ["` + strings.Repeat("j", maxJobLen+1) + `", "k"]`, func(s state) any { return s.report.RanRebootJobs }, []string{"k"}},
		{`"stopping": "yes"`, func(s state) any { return s.report.Stopping }, false},
		{`"version": -1`, func(s state) any { return s.version }, uint64(0)},
		{`"job_summaries": []`, func(s state) any { return s.summaries }, map[string]JobSummary(nil)},
		{`"job_summaries": {"a": 1, "b": {"running": "no", "scheduled_in": "soon", "last": {"outcome": "odd"}}}`, func(s state) any { return s.summaries }, map[string]JobSummary{"b": {}}},
		{`"job_summaries": {"b": {"scheduled_in": 1e999, "last": {"outcome": "success", "finished_at": 3, "duration": NaN}}}`, nil, nil},
	} {
		s, err := decodeState([]byte(`{"node_name": "b", ` + test.field + `}`))
		if test.get == nil {
			if err == nil {
				t.Errorf("%.60s is no JSON and was read", test.field)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.60s: %v", test.field, err)
			continue
		}
		if got := test.get(s); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%.60s: got %#v, want %#v", test.field, got, test.want)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `7`, `{`, `{}`, `{"node_name": 3}`, `{"node_name": ""}`, `{"node_name": "\u0007"}`,
		`{"node_name": "` + strings.Repeat(" ", maxStateBytes) + `"}`} {
		if _, err := decodeState([]byte(bad)); err == nil {
			t.Errorf("%.60s was read", bad)
		}
	}
}

// A state that is too long goes without summaries, and says so.
func TestStateTooLong(t *testing.T) {
	jobs := make(map[string]JobSummary)
	for i := range maxSummaries {
		jobs[fmt.Sprintf("%s-%03d", strings.Repeat("j", maxJobLen-4), i)] = JobSummary{Last: &LastRun{Outcome: "success", FinishedAt: strings.Repeat("9", maxFinishedLen)}}
	}
	w := wireReport(election.Report{NodeName: "a"})
	w.Summaries = encodeSummaries(jobs)
	data, err := w.encode()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := decodeState(data); err != nil || len(s.summaries) != maxSummaries || s.truncated {
		t.Errorf("%d of %d summaries at the caps fit into %d bytes: %v", len(s.summaries), maxSummaries, len(data), err)
	}
	for i := range 400 {
		w.Members = append(w.Members, wireMember{NodeName: strings.Repeat("m", 256), InstanceID: fmt.Sprint(i)})
	}
	if data, err = w.encode(); err != nil {
		t.Fatal(err)
	}
	if s, err := decodeState(data); err != nil || s.summaries != nil || !s.truncated || len(s.report.Members) != 400 {
		t.Errorf("%d bytes, %v, truncated %v", len(data), err, s.truncated)
	}
	for i := range 600 {
		w.Members = append(w.Members, wireMember{NodeName: strings.Repeat("m", 256), InstanceID: fmt.Sprint(i)})
	}
	if _, err := w.encode(); err == nil {
		t.Error("more than may be sent was encoded")
	}
}

func TestCapSummaries(t *testing.T) {
	jobs := map[string]JobSummary{"": {}, "bad\n": {}, strings.Repeat("x", maxJobLen+1): {}, "good": {Enabled: true}}
	out, truncated := capSummaries(jobs, false)
	if len(out) != 1 || !out["good"].Enabled || !truncated {
		t.Errorf("%v, truncated %v", out, truncated)
	}
	many := make(map[string]JobSummary)
	for i := range maxSummaries + 1 {
		many[fmt.Sprintf("%04d", i)] = JobSummary{}
	}
	out, truncated = capSummaries(many, false)
	if _, last := out[fmt.Sprintf("%04d", maxSummaries)]; len(out) != maxSummaries || last || !truncated {
		t.Errorf("%d summaries, the last by name among them: %v", len(out), last)
	}
	if _, truncated = capSummaries(nil, true); !truncated {
		t.Error("it was incomplete before, and no longer says so")
	}
	bad := math.Inf(1)
	w := encodeSummaries(map[string]JobSummary{"x": {ScheduledIn: &bad, Last: &LastRun{Outcome: "success", FinishedAt: "\x00", Duration: &bad}}, "y": {Last: &LastRun{Outcome: "odd"}}})
	if data, err := json.Marshal(w); err != nil || strings.Contains(string(data), "Inf") || w["y"].Last != nil || w["x"].Last.FinishedAt != nil {
		t.Errorf("%s, %v", data, err)
	}
}
