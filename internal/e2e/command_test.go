package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// What scripts rely on: the exit codes of the commands against real agents.
func TestCommands(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{})
	a, b := c.Nodes[0], c.Nodes[1]
	nobody := fmt.Sprintf("127.0.0.1:%d", testcluster.FreePorts(t, 1)[0])
	c.Start()
	c.AwaitAgreement("yacron-a")

	configured := []string{"-config-dir", filepath.Join(c.Dir, "yacron-a", "config")}
	id, _, _ := testcluster.Command(t, append([]string{"validate", "-job-set-id"}, configured...)...)
	told, err := a.Client.JobSetID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(id) != told.JobSetID {
		t.Errorf("validate says job set %q, the agent %q", id, told.JobSetID)
	}

	for _, test := range []struct {
		node *testcluster.Node // nil: no address is given
		args []string
		code int
		says string // in standard output, or in standard error of a failure
	}{
		{a, []string{"leader"}, 0, "yacron-a"},
		{b, []string{"leader"}, 0, "yacron-a"},
		{a, []string{"leader", "-self"}, 0, ""},
		{b, []string{"leader", "-self"}, 2, ""},
		{a, []string{"members"}, 0, "yacron-c"},
		{nil, []string{"leader", "-address", nobody}, 1, nobody},
		{nil, []string{"members", "-address", nobody}, 1, nobody},
		{nil, []string{"version"}, 0, "."},
		{nil, append([]string{"validate"}, configured...), 0, told.JobSetID},
		{nil, []string{"validate", "-config-dir", filepath.Join(c.Dir, "nowhere")}, 1, "nowhere"},
		{nil, []string{"agent", "-config-dir", filepath.Join(c.Dir, "nowhere")}, 1, "nowhere"},
		{nil, []string{"leeder"}, 2, "leader"},
		{nil, []string{"leader", "-nonsense"}, 2, "nonsense"},
	} {
		run := func(args ...string) (string, string, int) { return testcluster.Command(t, args...) }
		if test.node != nil {
			run = test.node.Command
		}
		stdout, stderr, code := run(test.args...)
		said := stdout
		if test.code == 1 || test.code == 2 && test.node == nil {
			said = stderr
		}
		if code != test.code || !strings.Contains(said, test.says) {
			t.Errorf("yacron2 %s: exit code %d, want %d and %q said; standard output %q, error %q",
				strings.Join(test.args, " "), code, test.code, test.says, stdout, stderr)
		}
	}

	stdout, _, _ := a.Command("members", "-format=json")
	var list struct {
		Members []struct{ Node, Status string }
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("members -format=json: %v: %q", err, stdout)
	}
	var found []string
	for _, m := range list.Members {
		found = append(found, m.Node+" "+m.Status)
	}
	if got, want := strings.Join(found, ", "), "yacron-a self, yacron-b agreed, yacron-c agreed"; got != want {
		t.Errorf("members %q, want %q", got, want)
	}
}

// A job that a person starts runs on the node that was asked, and can be cancelled
// there.
func TestManualStart(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		return []testcluster.Job{
			{Name: "by-hand", Schedule: byHand, Policy: "Leader", Command: j.Write() + "; exec sleep 300"},
			{Name: "off", Schedule: byHand, Command: "true", More: "enabled: false"},
		}
	}})
	follower := c.Nodes[1]
	c.Start()
	c.AwaitAgreement("yacron-a")
	ctx, cancel := context.WithTimeout(context.Background(), testcluster.Patience)
	defer cancel()

	if err := follower.Client.Start(ctx, "by-hand"); err != nil {
		t.Fatal(err)
	}
	testcluster.Eventually(t, "the run on the node asked", c.Journal.RanOn("by-hand", "yacron-b", time.Time{}))
	if err := follower.Client.Cancel(ctx, "by-hand"); err != nil {
		t.Fatal(err)
	}
	runs, err := follower.Client.Runs(ctx, "by-hand")
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 1 || runs.Runs[0].Outcome != "cancelled" || runs.Runs[0].Trigger != "manual" {
		t.Errorf("runs %+v, want one that was started by hand and cancelled", runs.Runs)
	}
	for job, want := range map[string]int{"off": http.StatusConflict, "unknown": http.StatusNotFound} {
		if err := follower.Client.Start(ctx, job); api.StatusOf(err) != want {
			t.Errorf("start of %s: %v, want %d", job, err, want)
		}
	}
	err = follower.Client.Cancel(ctx, "by-hand")
	var answer *api.Error
	if !errors.As(err, &answer) || answer.StatusCode != http.StatusConflict || answer.Message() != "job 'by-hand' is not running" {
		t.Errorf("cancel of what does not run: %v", err)
	}
}
