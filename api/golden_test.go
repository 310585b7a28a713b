package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 250e3, time.UTC)

func sampleRun() Run {
	return Run{
		Outcome: OutcomeFailure, ExitCode: new(-15), StartedAt: At(noon), FinishedAt: At(noon.Add(90 * time.Second)),
		Duration: new(90.0), FailReason: "failsWhen=nonzeroReturn and retcode=-15",
		ID: "01", Firing: At(noon.Truncate(time.Second)), Trigger: "schedule", Attempt: 1, Node: "yacron-a", Notes: []string{"a note"},
	}
}

func sampleJob() Job {
	run := sampleRun()
	return Job{
		Name: "nächtlich", Enabled: true, Schedule: "@daily", Command: "echo <a> & b", CaptureStdout: true, UTC: true, Timezone: "UTC",
		Running: true, PIDs: []int{7, 8}, LastRun: &run,
		History: []HistoryEntry{{OutcomeSuccess, new(0.5)}, {OutcomeCancelled, nil}},
	}
}

func pausedJob() Job {
	job := sampleJob()
	job.Paused = &Pause{Since: At(noon), Until: At(noon.Add(time.Hour)), Note: "the disk is full"}
	return job
}

// sampleEvents has one event of each kind.
func sampleEvents() []Event {
	about := func(kind string) Event {
		return Event{Kind: kind, At: At(noon), Node: "n", Job: "a", RunID: "01", Trigger: "schedule", Firing: At(noon), Attempt: 1}
	}
	run := sampleRun()
	started, finished, replaced, abandoned := about(EventRunStarted), about(EventRunFinished), about(EventRunReplaced), about(EventRunAbandoned)
	started.PID = 7
	finished.Run, finished.Permanent = &run, true
	abandoned.Run, abandoned.RetryAt = &run, At(noon.Add(time.Minute))
	return []Event{
		started, finished, replaced, abandoned,
		{Kind: EventMissed, At: At(noon), Node: "n", Job: "a", Missed: &Missed{Firing: At(noon), At: At(noon), Code: "late", Reason: "too late"}},
		{Kind: EventRole, At: At(noon), Node: "n", Role: &Role{Enabled: true, Leader: "n", IsLeader: true, Quorate: true}},
		{Kind: EventRole, At: At(noon), Node: "n", Role: &Role{
			Enabled: true, Conflict: true, Stopping: true, ConflictNames: []string{"n"}, ConflictingSizes: []int{5}, ConflictingPolicies: []string{"x"},
		}},
		{Kind: EventRole, At: At(noon), Node: "n", Role: &Role{Error: "address in use"}},
		{Kind: EventMember, At: At(noon), Node: "n", Member: &Member{Host: "b:1", NodeName: "b", Status: PeerAgreed, Stopping: true, Clock: &Clock{Ahead: 2.5, Within: 0.001, Excessive: true}}},
		{Kind: EventReload, At: At(noon), Node: "n", Reload: &Reload{State: ConfigLoaded, Trigger: "api", JobSetID: "v1:00", Jobs: 3, Warnings: 1}},
		{Kind: EventLost, At: At(noon), Node: "n", Lost: new(0)},
	}
}

// TestGolden pins every key, null and absence of the wire, and reads each file back.
func TestGolden(t *testing.T) {
	gated := sampleJob()
	gated.ClusterPolicy, gated.ClusterOwner = "Leader", new(NullString)
	owned := sampleJob()
	owned.ClusterPolicy, owned.ClusterOwner = "PreferLeader", new(NullString("yacron-b"))
	bare := Job{Name: "bare", PIDs: []int{}, History: []HistoryEntry{}, ScheduledIn: new(12.5)}
	abandoned := Run{Outcome: OutcomeCancelled, FinishedAt: At(noon), FailReason: "given up"}

	for _, test := range []struct {
		file  string
		value any
		// read is compared with the value read back; nil if null and absence fall
		// together in Go.
		read any
	}{
		{"job-set-id.json", JobSetID{"v1:00", 3}, new(JobSetID)},
		{"status.json", []JobStatus{
			{Job: "a", Status: StatusRunning, PIDs: []int{1, 2}},
			{Job: "b", Status: StatusRunning, PIDs: []int{}},
			{Job: "c", Status: StatusDisabled},
			{Job: "d", Status: StatusScheduled, ScheduledIn: new(14.25)},
			{Job: "e", Status: StatusScheduled, Reboot: true},
			{Job: "f", Status: StatusScheduled},
		}, new([]JobStatus)},
		{"jobs.json", []Job{bare, sampleJob(), owned}, new([]Job)},
		{"jobs-without-owner.json", []Job{gated}, nil},
		{"runs.json", Runs{
			Name: "nächtlich", Runs: []Run{abandoned, sampleRun()}, Stats: StatsOf([]Run{abandoned, sampleRun()}),
			Missed: []Missed{{Firing: At(noon), At: At(noon.Add(time.Second)), Code: "no-quorum", Reason: "no majority"}},
		}, new(Runs)},
		{"runs-none.json", Runs{Name: "new"}, nil},
		{"cluster-off.json", Cluster{NodeName: "unseen", Peers: []Peer{{Host: "unseen"}}}, nil},
		{"cluster-failed.json", Cluster{Error: "address in use"}, nil},
		{"cluster-gossip.json", Cluster{
			Enabled: true, Backend: "gossip", NodeName: "yacron-a", JobSetID: "v1:00", ClusterSize: 3, Quorum: 2, ElectLeader: true,
			Distribution: SingleLeader, Conflict: true, ConflictNames: []string{"yacron-c"}, ConflictingSizes: []int{5}, SizeConflict: true,
			PolicyConflict: true, ConflictingPolicies: []string{"distribution 'spread' != 'single-leader'"},
			Quorate: true, Leader: "yacron-a", IsLeader: true, Agreeing: 2, InstanceID: "00", Stopping: true,
			Peers: []Peer{
				{Host: "b:1", Status: PeerAgreed, JobSetID: "v1:00", NodeName: "yacron-b", LastSeen: At(noon), InstanceID: "11", Stopping: true, Clock: &Clock{Ahead: -0.25, Within: 0.000125}, CertificateExpires: At(noon),
					Members: []ToldMember{{NodeName: "yacron-b", InstanceID: "11", Agreed: true, Stopping: true}, {NodeName: "yacron-a", InstanceID: "00"}}},
				{Host: "c:1", Status: PeerUnreachable, LastError: "refused", MismatchStreak: 2},
			},
			Certificates: []Certificate{{Use: "cluster", Expires: At(noon)}},
		}, new(Cluster)},
		{"cluster-quiet.json", Cluster{Enabled: true, Backend: "gossip", NodeName: "a"}, nil},
		{"cluster-kubernetes.json", Cluster{
			Enabled: true, Backend: "kubernetes", NodeName: "a", ClusterSize: 1, Quorum: 1,
			ConflictNames: []string{}, ConflictingSizes: []int{}, ConflictingPolicies: []string{}, Peers: []Peer{},
			Lease: &Lease{Identity: "a", Holder: "a", Expiry: Expiry{noon}, Detail: map[string]any{"name": "yacron2", "namespace": nil}},
		}, new(Cluster)},
		{"cluster-etcd.json", Cluster{
			Enabled: true, Backend: "etcd", NodeName: "a",
			ConflictNames: []string{}, ConflictingSizes: []int{}, ConflictingPolicies: []string{}, Peers: []Peer{},
			Lease: &Lease{Identity: "a", Detail: map[string]any{"electionName": "yacron2", "leaseId": "7"}},
		}, new(Cluster)},
		{"config-status.json", ConfigStatus{
			State: ConfigFailed, Trigger: "signal", At: At(noon), LoadedAt: At(noon.Add(-time.Hour)), JobSetID: "v1:00", Jobs: 3, Reloads: 1, Failures: 2,
			Errors:   []Problem{{File: "a.yaml", Line: 3, Column: 5, Job: "a", Key: "jobs[0].comand", Message: "unknown key", Hint: "write command", Source: "comand: x"}},
			Warnings: []Problem{{Message: "odd"}},
		}, new(ConfigStatus)},
		{"config-status-new.json", ConfigStatus{State: ConfigLoaded, Trigger: "start", At: At(noon), LoadedAt: At(noon)}, nil},
		{"job-paused.json", pausedJob(), new(Job)},
		{"next.json", Next{Name: "a", Enabled: true, Schedule: "@daily", Timezone: "UTC", Firings: []Firing{
			{At: At(noon), Local: "2026-03-01T12:00:00Z"}, {At: At(noon.Add(time.Hour)), Local: "2026-03-01T13:00:00Z", Note: "moved"},
		}, ConcurrencyPolicy: "Forbid", DayMatch: "or"}, new(Next)},
		{"next-none.json", Next{Name: "a"}, nil},
		{"schedule.json", SchedulePreview{
			Schedule: "30 2 * * *", Canonical: "0 30 2 * * * *", Timezone: "Europe/Berlin", Firings: []Firing{{At: At(noon), Local: "2026-03-01T12:00:00Z", Note: "moved"}},
			Warnings: []Problem{{Key: "schedule", Message: "odd", Hint: "write another"}}, Jobs: []string{"a"}, JobsTotal: 101,
		}, new(SchedulePreview)},
		{"schedule-none.json", SchedulePreview{Schedule: "@reboot", Canonical: "@reboot"}, nil},
		{"schedule-error.json", ScheduleError{Error: "odd", Problems: []Problem{{Key: "schedule", Column: 3, Message: "odd"}}}, new(ScheduleError)},
		{"health.json", Health{OK: true}, new(Health)},
		{"health-bad.json", Health{Reason: "the agent is stopping"}, new(Health)},
		{"why.json", Why{
			Name: "a", Node: "n", Now: &WhyNow{Action: "skip", Code: "paused", Reason: "the disk is full"},
			Decisions: []Decision{{First: At(noon), Firing: At(noon.Add(time.Hour)), Count: 2, At: At(noon.Add(time.Hour)), Trigger: "schedule", Outcome: "run", Code: "due", Reason: "due", Owner: "n"}},
			Missed:    []Missed{{Firing: At(noon), At: At(noon), Code: "late", Reason: "too late"}}, Runs: []Run{sampleRun()},
		}, new(Why)},
		{"why-nothing.json", Why{Name: "a", Node: "n"}, nil},
		{"events.json", sampleEvents(), new([]Event)},
		{"fleet-off.json", Fleet{NodeName: "unseen"}, nil},
		{"fleet.json", Fleet{
			Enabled: true, Backend: "gossip", NodeName: "a", Distribution: Spread, ElectLeader: true, Interval: 10,
			Nodes: []FleetNode{
				{NodeName: "a", Self: true, Status: PeerSelf, AsOf: At(noon), Jobs: map[string]JobSummary{
					"x": {Running: true, Enabled: true, Last: &LastSummary{Outcome: OutcomeSuccess, FinishedAt: "2026", Duration: new(1.5), ExitCode: new(0)}},
					"y": {Enabled: true, ScheduledIn: new(2.5)},
					"z": {Last: &LastSummary{}},
				}},
				{NodeName: "b", Host: "b:1", Status: PeerAgreed, AsOf: At(noon), Jobs: map[string]JobSummary{}, Truncated: true},
				{Host: "c:1", Status: PeerUnknown},
			},
		}, new(Fleet)},
	} {
		t.Run(test.file, func(t *testing.T) {
			data, err := Marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, data, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			path := filepath.Join("testdata", test.file)
			if *update {
				if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(pretty.Bytes(), want) {
				t.Errorf("got %s\nwant %s", pretty.Bytes(), want)
			}
			if test.read == nil {
				return
			}
			if err := json.Unmarshal(want, test.read); err != nil {
				t.Fatal(err)
			}
			if got := reflect.ValueOf(test.read).Elem().Interface(); !reflect.DeepEqual(got, test.value) {
				t.Errorf("read back as %+v\nwant %+v", got, test.value)
			}
		})
	}
}

func TestStatsOf(t *testing.T) {
	run := func(outcome string, took float64) Run { return Run{Outcome: outcome, Duration: &took} }
	for name, c := range map[string]struct {
		runs []Run
		want Stats
	}{
		"none":                   {nil, Stats{}},
		"one":                    {[]Run{run(OutcomeSuccess, 2)}, Stats{Total: 1, Success: 1, SuccessRate: new(1.0), AvgDuration: new(2.0), MinDuration: new(2.0), MaxDuration: new(2.0), LastDuration: new(2.0)}},
		"mixed":                  {[]Run{run(OutcomeSuccess, 2), run(OutcomeFailure, 4), run(OutcomeCancelled, 6)}, Stats{Total: 3, Success: 1, Failure: 1, Cancelled: 1, SuccessRate: new(0.5), AvgDuration: new(4.0), MinDuration: new(2.0), MaxDuration: new(6.0), LastDuration: new(6.0)}},
		"no rate":                {[]Run{run(OutcomeCancelled, 1)}, Stats{Total: 1, Cancelled: 1, AvgDuration: new(1.0), MinDuration: new(1.0), MaxDuration: new(1.0), LastDuration: new(1.0)}},
		"the last did not start": {[]Run{run(OutcomeFailure, 1), {Outcome: OutcomeCancelled}}, Stats{Total: 2, Failure: 1, Cancelled: 1, SuccessRate: new(0.0), AvgDuration: new(1.0), MinDuration: new(1.0), MaxDuration: new(1.0)}},
		"zero":                   {[]Run{run(OutcomeSuccess, 0)}, Stats{Total: 1, Success: 1, SuccessRate: new(1.0), AvgDuration: new(0.0), MinDuration: new(0.0), MaxDuration: new(0.0), LastDuration: new(0.0)}},
		"lost":                   {[]Run{run(OutcomeSuccess, 1), run(OutcomeLost, 100)}, Stats{Total: 2, Success: 1, Lost: 1, SuccessRate: new(1.0), AvgDuration: new(1.0), MinDuration: new(1.0), MaxDuration: new(1.0)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StatsOf(c.runs); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
