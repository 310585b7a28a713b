package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/scheduler/run"
)

func TestEnvironment(t *testing.T) {
	h := newHarness(t)
	uid := uint32(1000)
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	h.environ = inheritedEnvironment([]string{"A=1", "B=2", "A=3", "HOME=/root", "HOSTNAME=box", "NOTHING", "=x",
		"YACRON2_FIRING=old", "YACRON2_FENCING_TOKEN=9", "YACRON2_HTTP_TOKEN=kept"})
	for name, c := range map[string]struct {
		job  Job
		inst instance
		want []string
	}{
		"manual": {Job{Name: "j"}, instance{id: "r1", launch: launch{attempt: 1}}, []string{
			"A=3", "B=2", "HOME=/root", "HOSTNAME=box", "YACRON2_HTTP_TOKEN=kept",
			"YACRON2_JOB_NAME=j", "YACRON2_ATTEMPT=1", "YACRON2_RUN_ID=r1", "YACRON2_NODE=b"}},
		"everything": {Job{Name: "j", RunAs: &RunAs{UID: &uid, Login: "joe", Home: "/home/joe", Shell: "/bin/zsh"},
			Environment: []EnvVar{{"B", "5"}, {"C", "x=y"}, {"HOME", "/srv"}, {"YACRON2_NODE", "forged"}}},
			instance{id: "r1", launch: launch{attempt: 3, token: 12, firing: &firing{at: at}}}, []string{
				"A=3", "B=5", "HOME=/srv", "HOSTNAME=box", "YACRON2_HTTP_TOKEN=kept", "USER=joe", "LOGNAME=joe", "SHELL=/bin/zsh",
				"C=x=y", "YACRON2_NODE=b", "YACRON2_JOB_NAME=j", "YACRON2_ATTEMPT=3", "YACRON2_RUN_ID=r1",
				"YACRON2_FIRING=2031-02-03T04:05:06Z", "YACRON2_FENCING_TOKEN=12"}},
		"no account": {Job{Name: "j", RunAs: &RunAs{UID: &uid}}, instance{id: "r1", launch: launch{attempt: 1}}, []string{
			"A=3", "B=2", "HOME=/root", "HOSTNAME=box", "YACRON2_HTTP_TOKEN=kept",
			"YACRON2_JOB_NAME=j", "YACRON2_ATTEMPT=1", "YACRON2_RUN_ID=r1", "YACRON2_NODE=b"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.inst.job = &c.job
			got := h.environmentOf(&c.inst)
			equal(t, "environment", got, c.want)
			names := map[string]bool{}
			for _, pair := range got {
				name, _, _ := strings.Cut(pair, "=")
				if names[name] {
					t.Errorf("%s is there twice", name)
				}
				names[name] = true
			}
		})
	}
	if env := inheritedEnvironment(nil); len(env) != 1 || !strings.HasPrefix(env[0], "HOSTNAME=") {
		t.Errorf("of nothing: %v", env)
	}
}

func TestArgvAndCredential(t *testing.T) {
	equal(t, "line", argv(&Job{Command: Command{Line: "a | b"}, Shell: "/bin/bash"}), []string{"/bin/bash", "-c", "a | b"})
	equal(t, "default shell", argv(&Job{Command: Command{Line: ""}}), []string{"/bin/sh", "-c", ""})
	equal(t, "list", argv(&Job{Command: Command{Argv: []string{"a b", "$c"}}, Shell: "/bin/bash"}), []string{"a b", "$c"})
	uid, gid := uint32(7), uint32(8)
	if credential(nil) != nil || credential(&RunAs{}) != nil {
		t.Error("a credential for nobody")
	}
	got := credential(&RunAs{UID: &uid, GID: &gid, Groups: []uint32{9}})
	if want := (run.Credential{UID: 7, GID: 8, Groups: []uint32{9}}); got.UID != want.UID || got.GID != want.GID || !slices.Equal(got.Groups, want.Groups) {
		t.Errorf("%+v", got)
	}
}

func TestRunIDsSortByTimeAndAreUnique(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	var ids []string
	for i := range 1000 {
		ids = append(ids, newRunID(now.Add(time.Duration(i)*time.Millisecond)))
	}
	if !slices.IsSorted(ids) {
		t.Error("not sorted")
	}
	seen := map[string]bool{}
	for range 10000 {
		id := newRunID(now)
		if seen[id] || len(id) != 32 {
			t.Fatal(id)
		}
		seen[id] = true
	}
}
