package report

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/scheduler/run"
)

// shellText is how many characters of each stream a shell reporter gets.
const shellText = 16384

// shellDelivery runs one command.
type shellDelivery struct{ *Shell }

func (d *shellDelivery) kind() string { return "shell" }

// lane keeps the commands of one job apart from those of others.
func (d *shellDelivery) lane(report *Report) string { return report.Job }

func (d *shellDelivery) secrets() ([]string, error) { return nil, nil }

func (d *shellDelivery) prepare(r *Reporter, report *Report, _ []string) (func(context.Context) error, error) {
	spec := run.Spec{
		JobName:          report.Job,
		Argv:             d.argv(),
		Env:              shellEnviron(r.cfg.Environ, report),
		ExecutionTimeout: r.limits.shell,
		KillTimeout:      r.limits.kill,
		Stdout:           r.cfg.Stdout,
		Stderr:           r.cfg.Stderr,
	}
	return func(ctx context.Context) error { return d.execute(ctx, spec) }, nil
}

func (d *shellDelivery) argv() []string {
	switch {
	case d.Argv != nil:
		return d.Argv
	case d.Shell.Shell != "":
		return []string{d.Shell.Shell, "-c", d.Line}
	case runtime.GOOS == "windows":
		return []string{"cmd.exe", "/C", d.Line}
	}
	return []string{"/bin/sh", "-c", d.Line}
}

func (d *shellDelivery) execute(ctx context.Context, spec run.Spec) error {
	p := run.Start(spec)
	unwatch := context.AfterFunc(ctx, p.Cancel)
	defer unwatch()
	result := p.Result()
	switch {
	case result.StartError != "":
		return fmt.Errorf("not started: %s", result.StartError)
	case result.TimedOut:
		return fmt.Errorf("ended after its limit of %s", spec.ExecutionTimeout)
	case result.Cancelled:
		return fmt.Errorf("ended early: %w", context.Cause(ctx))
	case result.ExitCode != 0:
		return fmt.Errorf("exit code %d", result.ExitCode)
	}
	return nil
}

// shellEnviron adds to base what a shell reporter is told.
func shellEnviron(base []string, report *Report) []string {
	stdout, stdoutCut := first(report.Stdout.plain(), shellText)
	stderr, stderrCut := first(report.Stderr.plain(), shellText)
	code := ""
	if report.ExitCode != nil {
		code = strconv.Itoa(*report.ExitCode)
	}
	own := [][2]string{
		{"YACRON2_FAIL_REASON", report.FailReason},
		{"YACRON2_FAILED", flag(!report.Success)},
		{"YACRON2_JOB_NAME", report.Job},
		{"YACRON2_JOB_COMMAND", report.Command()},
		{"YACRON2_JOB_SCHEDULE", report.Schedule},
		{"YACRON2_RETCODE", code},
		{"YACRON2_STDOUT", stdout},
		{"YACRON2_STDERR", stderr},
		{"YACRON2_STDOUT_TRUNCATED", flag(stdoutCut)},
		{"YACRON2_STDERR_TRUNCATED", flag(stderrCut)},
		{"YACRON2_HOOK", string(report.Hook)},
		{"YACRON2_RUN_ID", report.RunID},
		{"YACRON2_NODE", report.Node},
		{"YACRON2_ATTEMPT", strconv.Itoa(report.Attempt)},
		{"YACRON2_FIRING", rfc3339(report.Firing)},
	}
	env := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(own, func(o [2]string) bool { return o[0] == name })
	})
	for _, o := range own {
		// Output may hold what no variable can.
		env = append(env, o[0]+"="+strings.ReplaceAll(o[1], "\x00", "\uFFFD"))
	}
	return env
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func rfc3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
