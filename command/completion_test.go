//go:build unix

package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// completions asks the program as a shell does, for what may stand at the end of line.
func completions(t *testing.T, address, line string) []string {
	t.Helper()
	p := startWith(t, []string{"COMP_LINE=" + line, envAddress + "=" + address}, "yacron2", "", "")
	list := strings.Fields(p.exits(exitOK).out)
	slices.Sort(list)
	return list
}

func TestCompletion(t *testing.T) {
	address := serve(t, map[string]any{"/jobs": someJobs()[2:5]})
	for line, want := range map[string]string{
		"yacron2 mem":                       "members",
		"yacron2 job ":                      "cancel history list logs pause resume run show",
		"yacron2 tls c":                     "ca cert",
		"yacron2 job run ":                  "digest epoch feed",
		"yacron2 job logs f":                "feed",
		"yacron2 leader -s":                 "-self",
		"yacron2 members -format ":          "json table",
		"yacron2 agent -log-level ":         "debug error info trace warn",
		"yacron2 tls cert create -d":        "-days -dir -dns",
		"yacron2 version ":                  "",
		"yacron2 job history -n 5 ep":       "epoch",
		"yacron2 completion ":               "bash fish zsh",
		"yacron2 validate testdata/help/le": "testdata/help/leader.txt",
	} {
		// A shell waits for the names of jobs for a second; a busy machine may need more.
		eventually(t, fmt.Sprintf("way that %q goes on with %q", line, want), func() bool {
			got := strings.Join(completions(t, address, line), " ")
			if got != want {
				t.Logf("%q can go on with %q", line, got)
			}
			return got == want
		})
	}
	if got := completions(t, nobody, "yacron2 job run "); len(got) > 0 {
		t.Errorf("without an agent there are jobs: %q", got)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		r := run(t, nil, "completion", shell)
		r.expect(t, exitOK, []string{os.Args[0], "complete "}, nil)
		if strings.Contains(r.out, "PATH") {
			t.Errorf("%s: the program's path is missing: %s", shell, r.out)
		}
	}
	if r := run(t, nil, "completion", "bash"); r.out != "complete -C "+shellJoin(os.Args[:1])+" yacron2\n" {
		t.Errorf("bash: %s", r.out)
	}
	run(t, nil, "completion", "csh").expect(t, exitMisuse, nil, []string{"name the shell: bash, zsh or fish"})
	run(t, nil, "completion").expect(t, exitMisuse, nil, []string{"name the shell: bash, zsh or fish"})
}
