package command

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mitchellh/cli"

	"github.com/yacron2/yacron2/api"
)

func jobGroup(m Meta) cli.Command {
	return &group{m, "Look at the jobs of an agent, start, cancel and pause them"}
}

// jobName returns the one job that the arguments of a command name. It
// reports misuse itself and returns false then.
func (m *Meta) jobName() (string, bool) {
	if len(m.args) != 1 || m.args[0] == "" {
		return "", m.misuse("name the job")
	}
	return m.args[0], true
}

// withJob hands the one job that the arguments name, and a client of the agent asked, to
// do, whose exit code it returns. It reports misuse and bad addresses itself.
func (m *Meta) withJob(fs *flag.FlagSet, args []string, do func(ctx context.Context, client *api.Client, name string) int) int {
	if !m.parse(fs, args, 1) {
		return exitMisuse
	}
	name, ok := m.jobName()
	if !ok {
		return exitMisuse
	}
	client, err := m.client()
	if err != nil {
		return m.fail(err)
	}
	defer client.Close()
	return do(context.Background(), client, name)
}

// order has the agent do something with the one job that the arguments name, and says
// what was done.
func (m *Meta) order(fs *flag.FlagSet, args []string, do func(*api.Client, context.Context, string) error, done string) int {
	return m.withJob(fs, args, func(ctx context.Context, client *api.Client, name string) int {
		if err := do(client, ctx, name); err != nil {
			return m.failJob(ctx, client, name, err)
		}
		m.printf("%s %s at %s.\n", done, plain(name), client.Address())
		return exitOK
	})
}

// failJob reports why a request about a job did not succeed. If there is no such job,
// it names the nearest that there is.
func (m *Meta) failJob(ctx context.Context, client *api.Client, name string, err error) int {
	if api.StatusOf(err) != http.StatusNotFound {
		return m.fail(err)
	}
	suggestion := ""
	if jobs, err := client.Jobs(ctx); err == nil {
		names := make([]string, len(jobs))
		for i, j := range jobs {
			names[i] = j.Name
		}
		suggestion = didYouMean(name, names)
	}
	m.errorf("the agent has no job %q%s", name, suggestion)
	m.hintf("yacron2 job list shows all of them")
	return exitFailed
}

// stateText says what a job does now, or when it will do something.
func stateText(j *api.Job) string {
	switch {
	case j.Running && len(j.PIDs) > 0:
		pids := make([]string, len(j.PIDs))
		for i, pid := range j.PIDs {
			pids[i] = strconv.Itoa(pid)
		}
		return "running, pid " + strings.Join(pids, ", ")
	case j.Running:
		return "running"
	case !j.Enabled:
		return "disabled"
	case j.Paused != nil && !j.Paused.Until.IsZero():
		return "paused until " + instantText(j.Paused.Until)
	case j.Paused != nil:
		return "paused"
	case j.ScheduledIn != nil:
		return dueText(*j.ScheduledIn)
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(j.Schedule)), "@reboot"):
		return "once, at start"
	}
	return "never due"
}

// dueText says in how many seconds a job is due.
func dueText(seconds float64) string {
	if seconds < 1 {
		return "due now"
	}
	return "due " + api.In(seconds)
}

// zoneText names the zone of a job's schedule.
func zoneText(j *api.Job) string {
	if j.Timezone == "" {
		return "local"
	}
	return string(j.Timezone)
}

// runText says in short how a run ended.
func runText(r *api.Run, now time.Time) string {
	if r == nil {
		return ""
	}
	return exitText(r.Outcome, r.ExitCode) + " " + ago(r.FinishedAt.Time, now)
}

// exitText names an outcome, with the exit code unless it is 0.
func exitText(outcome string, code *int) string {
	if code == nil || *code == 0 {
		return outcome
	}
	return fmt.Sprintf("%s (%d)", outcome, *code)
}

// secondsText writes a duration of the wire as people read it, "" for none.
func secondsText(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	d := time.Duration(*seconds * float64(time.Second))
	switch {
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return d.String()
}

// sizeText writes a number of bytes as people read it, "" for none.
func sizeText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/1e6, 'f', 1, 64) + " MB"
}

// instantText writes an instant in UTC to the second, "" for none.
func instantText(i api.Instant) string {
	if i.IsZero() {
		return ""
	}
	return i.UTC().Format("2006-01-02 15:04:05Z")
}
