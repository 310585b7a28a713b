package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestShell(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	r := failed("j b")
	r.Stdout.Text = strings.Repeat("ü", shellText+1)
	r.Stderr.Text = strings.Repeat("x", shellText-1) + "\x00"
	b := newBench(t, Config{Environ: []string{"PATH=/usr/bin:/bin", "OUT=" + out, "YACRON2_STDOUT=stale"}})
	b.send(&Hooks{Shell: &Shell{Shell: "/bin/sh", Line: `
		echo "$YACRON2_FAIL_REASON|$YACRON2_FAILED|$YACRON2_JOB_NAME|$YACRON2_JOB_COMMAND|$YACRON2_JOB_SCHEDULE|$YACRON2_RETCODE" >$OUT
		printf %s "$YACRON2_STDOUT" | wc -c >>$OUT
		printf %s "$YACRON2_STDERR" | wc -c >>$OUT
		echo "$YACRON2_STDOUT_TRUNCATED $YACRON2_STDERR_TRUNCATED ${A-unset} $YACRON2_NODE $YACRON2_HOOK $YACRON2_FIRING" >>$OUT`}}, r)
	b.wantNoFailure(t)
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := "failsWhen=nonzeroReturn and retcode=3|1|j b|make backup|0 3 * * *|3\n32768\n16386\n1 0 unset node-a onFailure 2031-03-01T03:00:00Z\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShellForms(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := newBench(t, Config{Environ: []string{"PATH=/usr/bin:/bin"}, Stdout: f, Stderr: f})
	b.send(&Hooks{Shell: &Shell{Argv: []string{"printf", "[%s]", "a b", "$HOME"}}}, succeeded("j"))
	b.send(&Hooks{Shell: &Shell{Line: `printf "<$YACRON2_FAILED$YACRON2_FAIL_REASON>" >&2`}}, succeeded("j"))
	b.wantNoFailure(t)
	if got, _ := os.ReadFile(out); string(got) != "[a b][$HOME]<0>" {
		t.Errorf("output %q", got)
	}
}

func TestShellFailures(t *testing.T) {
	for name, c := range map[string]struct {
		shell Shell
		want  string
	}{
		"exit code": {Shell{Shell: "/bin/sh", Line: "exit 7"}, "exit code 7"},
		"signal":    {Shell{Shell: "/bin/sh", Line: "kill -9 $$"}, "exit code -9"},
		"missing":   {Shell{Argv: []string{"/no/such/program"}}, "program /no/such/program not found"},
		"hangs":     {Shell{Shell: "/bin/sh", Line: "sleep 600 & sleep 600"}, "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Config{Environ: []string{"PATH=/usr/bin:/bin", "SECRET_TOKEN=hunter2-visible"}})
			if name == "hangs" {
				b.limits.shell = 100 * time.Millisecond
			}
			b.send(&Hooks{Shell: &c.shell}, failed("j"))
			b.wantFailure(t, "reporter=shell", c.want)
			if strings.Contains(b.log.String(), "hunter2") {
				t.Errorf("the environment is in the log: %s", b.log)
			}
		})
	}
}
