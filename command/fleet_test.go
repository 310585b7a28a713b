package command

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func someFleet() api.Fleet {
	idle := api.JobSummary{Enabled: true, ScheduledIn: new(90.0)}
	ended := api.NullString(api.At(noon.Add(-time.Hour)).String())
	return api.Fleet{
		Enabled: true, Backend: "gossip", NodeName: "yacron-a", Distribution: api.SingleLeader, ElectLeader: true, Interval: 30,
		Nodes: []api.FleetNode{
			{NodeName: "yacron-a", Self: true, Status: api.PeerSelf, AsOf: api.At(noon), Jobs: map[string]api.JobSummary{
				"backup": {Enabled: true, ScheduledIn: new(3600.0), Last: &api.LastSummary{Outcome: api.OutcomeFailure, FinishedAt: ended, Duration: new(61.0), ExitCode: new(3)}},
				"feed":   {Running: true, Enabled: true},
				"idle":   idle, "off": {}, "boot": {Enabled: true},
			}},
			{NodeName: "yacron-b", Host: "b:1", Status: api.PeerAgreed, AsOf: api.At(noon.Add(-3 * time.Second)), Truncated: true, Jobs: map[string]api.JobSummary{
				"backup": {Enabled: true, ScheduledIn: new(3600.0), Last: &api.LastSummary{Outcome: api.OutcomeSuccess, FinishedAt: "odd\x1b[31m"}},
				"feed":   {Enabled: true, ScheduledIn: new(2.5)},
				"idle":   idle, "off": {},
			}},
			{Host: "c:1", Status: api.PeerUnreachable},
		},
	}
}

func TestFleet(t *testing.T) {
	env := map[string]string{envAddress: serve(t, map[string]any{"/fleet": someFleet()})}
	r := run(t, env, "fleet")
	r.expect(t, exitOK, []string{"JOB"}, nil)
	golden(t, "fleet.txt", r.out)

	r = run(t, env, "fleet", "-job=feed")
	r.expect(t, exitOK, []string{"feed  yacron-a  running", "feed  yacron-b  due in 2 seconds"}, nil)

	r = run(t, env, "fleet", "-format=json")
	r.expect(t, exitOK, []string{"{"}, nil)
	var back api.Fleet
	if err := json.Unmarshal([]byte(r.out), &back); err != nil || len(back.Nodes) != 3 || len(back.Nodes[0].Jobs) != 5 {
		t.Errorf("reads back as %+v (%v)", back, err)
	}
	run(t, env, "fleet", "-job=feeed").expect(t, exitFailed, []string{"NODE"}, []string{`no node tells of a job "feeed", did you mean "feed"?`})
}

func TestFleetOfNobody(t *testing.T) {
	env := map[string]string{envAddress: serve(t, map[string]any{"/fleet": api.Fleet{}})}
	run(t, env, "fleet").expect(t, exitOK, []string{"This agent knows of no other nodes"}, nil)
	if r := run(t, env, "fleet", "-format=json"); r.out != "{\n  \"enabled\": false,\n  \"nodes\": []\n}\n" {
		t.Errorf("got %s", r.out)
	}
}
