package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// The hooks of one job through all reporters but mail: every attempt, the last one, a
// success, and what statsd is told.
func TestHooksOfAJob(t *testing.T) {
	t.Parallel()
	sentry, hooks := newSink(t), newSink(t)
	statsd, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = statsd.Close() }()
	told := filepath.Join(t.TempDir(), "told")
	dsn := strings.Replace(sentry.URL, "http://", "http://publickey@", 1) + "/42"
	a := startAlone(t, testcluster.Job{Name: "twice", Schedule: "@reboot", Command: `printf '\033[31mred\033[0m out\n'; echo err >&2; exit 3`, More: captured + `environment: [{key: COLOUR, value: green}]
statsd: {prefix: the.job, host: 127.0.0.1, port: ` + fmt.Sprint(statsd.LocalAddr().(*net.UDPAddr).Port) + `}
onFailure:
  retry: {maximumRetries: 1, initialDelay: 0, maximumDelay: 1, backoffMultiplier: 1}
  report:
    shell: {command: 'echo "$YACRON2_HOOK $YACRON2_ATTEMPT $YACRON2_RETCODE $YACRON2_FAILED $YACRON2_STDOUT" >> ` + told + `'}
    webhook: {url: {value: "` + hooks.URL + `"}, body: "{{ hook }} {{ attempt }} {{ environment.COLOUR }} {{ stdout|trim }} {{ stderr|trim }}"}
onPermanentFailure:
  report:
    sentry: {dsn: {value: "` + dsn + `"}, environment: production, extra: {priority: 2}}
onSuccess:
  report:
    webhook: {url: {value: "` + hooks.URL + `"}, body: "never"}
`})
	got := hooks.await(2)
	slices.Sort(got)
	if want := []string{"onFailure 1 green red out err", "onFailure 2 green red out err"}; !slices.Equal(got, want) {
		t.Errorf("webhooks %q, want %q", got, want)
	}
	testcluster.Eventually(t, "the shell reports", func() error {
		data, err := os.ReadFile(told)
		if err != nil {
			return err
		}
		// Two reports that come together are delivered side by side, as the webhooks are.
		reports := strings.SplitAfter(string(data), "\n\n")
		slices.Sort(reports)
		if want := []string{"", "onFailure 1 3 1 red out\n\n", "onFailure 2 3 1 red out\n\n"}; !slices.Equal(reports, want) {
			return fmt.Errorf("%q, want %q", reports, want)
		}
		return nil
	})
	lines := bufio.NewScanner(strings.NewReader(sentry.await(1)[0]))
	var event struct {
		Level, Message, Environment string
		Tags                        map[string]string
		Contexts                    struct{ Extra map[string]any }
	}
	for range 3 { // envelope header, item header, event
		if !lines.Scan() {
			t.Fatal("the envelope ends early")
		}
	}
	if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
		t.Fatalf("%v in %s", err, lines.Text())
	}
	if event.Level != "error" || event.Environment != "production" || event.Tags["job"] != "twice" || event.Contexts.Extra["priority"] != 2.0 ||
		event.Contexts.Extra["exit_code"] != 3.0 || !strings.HasPrefix(event.Message, "Job twice failed\n") || strings.Contains(event.Message, "\x1b") {
		t.Errorf("event %+v", event)
	}

	var packets []string
	buf := make([]byte, 1500)
	for range 4 {
		n, err := statsd.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, string(buf[:n]))
	}
	for i, packet := range packets {
		if i%2 == 0 && packet != "the.job.start:1|g\n" || i%2 == 1 && !strings.HasPrefix(packet, "the.job.stop:1|g\nthe.job.success:0|g\nthe.job.duration:") {
			t.Errorf("packet %d is %q", i, packet)
		}
	}
	a.awaitRuns("twice", 2)
	if all := hooks.got(); len(all) != 2 {
		t.Errorf("webhooks %q", all)
	}
}

// An agent that was frozen runs late what its jobs are patient enough for, and records
// and reports what it missed.
func TestFrozenAgent(t *testing.T) {
	t.Parallel()
	missed := newSink(t)
	a := newAlone(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		return []testcluster.Job{
			{Name: "patient", Command: j.Write(), More: "startingDeadline: 30\n"},
			{Name: "prompt", Command: j.Write(), More: "startingDeadline: 0.9\nonMiss:\n  report:\n    webhook: {url: {value: \"" + missed.URL + "\"}, body: \"{{ name }} {{ firing }} {{ fail_reason }}\"}\n"},
		}
	}})
	a.begin()
	a.awaitRuns("patient", 2)
	a.Pause()
	frozen := testcluster.NextSecond()
	<-time.After(time.Until(frozen.Add(3500 * time.Millisecond))) // what the test is about
	a.Resume()
	testcluster.Eventually(t, "the firings after the freeze", func() error {
		for _, job := range []string{"patient", "prompt"} {
			if len(a.cluster.Entries().Of(job).Between(frozen.Add(5*time.Second), time.Now())) < 2 {
				return errors.New(job)
			}
		}
		return nil
	})
	// Only the newest firing that is due starts late, which is the fourth at least.
	for _, job := range []string{"patient", "prompt"} {
		if during := a.cluster.Entries().Of(job).Between(frozen.Add(time.Second), frozen.Add(2*time.Second)); len(during) > 0 {
			t.Errorf("frozen from %s on, %s ran all the same: %+v", frozen, job, during)
		}
		why, err := a.Why(job)
		if err != nil || !slices.ContainsFunc(why.Missed, func(m api.Missed) bool { return m.Firing.Equal(frozen.Add(time.Second)) && m.Code == "superseded" }) {
			t.Errorf("%s missed %+v, %v", job, why.Missed, err)
		}
	}
	reports := missed.await(2)
	for _, r := range reports {
		if !strings.HasPrefix(r, "prompt 20") || len(strings.Fields(r)) < 4 {
			t.Errorf("report %q", r)
		}
	}
}
