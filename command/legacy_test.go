package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "jobs.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	for _, test := range []struct {
		args string
		want string // "" if there is no command for it
		code int
		err  string
	}{
		{"-c DIR", "agent -config-dir DIR", exitOK, "hint: this form is an old one, the new one is: yacron2 agent -config-dir DIR\n"},
		{"-c FILE", "agent -config-file FILE", exitOK, "yacron2 agent -config-file FILE\n"},
		{"-c NONE", "agent -config-file NONE", exitOK, "hint"},
		{"-cDIR", "agent -config-dir DIR", exitOK, "hint"},
		{"--config DIR", "agent -config-dir DIR", exitOK, "hint"},
		{"--config=DIR", "agent -config-dir DIR", exitOK, "hint"},
		{"--conf DIR", "agent -config-dir DIR", exitOK, "hint"},
		{"-c DIR -l DEBUG", "agent -config-dir DIR -log-level debug", exitOK, "hint"},
		{"-c DIR -lWARNING", "agent -config-dir DIR -log-level warn", exitOK, "hint"},
		{"-c DIR --log-level=CRITICAL", "agent -config-dir DIR -log-level error", exitOK, "hint"},
		{"-v -c DIR", "validate -config-dir DIR", exitOK, "hint"},
		{"-vc FILE", "validate -config-file FILE", exitOK, "hint"},
		{"--valid -c DIR -l ERROR", "validate -config-dir DIR", exitOK, "hint"},
		{"--job-set-id -c DIR", "validate -job-set-id -config-dir DIR", exitOK, "hint"},
		{"--job-set-id -v -c DIR", "validate -job-set-id -config-dir DIR", exitOK, "hint"},
		{"--version -v -c NONE", "version", exitOK, ""},
		{"--help -c NONE", "-help", exitOK, ""},
		{"-c DIR -h", "-help", exitOK, ""},

		{"-v", "", exitMisuse, "hint: use: yacron2 validate, or: yacron2 version"},
		{"-c", "", exitMisuse, "a value is missing after -c"},
		{"-c DIR -l debug", "", exitMisuse, `unknown log level "debug": write DEBUG, INFO`},
		{"--version -l LOUD", "", exitMisuse, `unknown log level "LOUD"`},
		{"-x", "", exitMisuse, "there is no option -x before a command"},
		{"--v -c DIR", "", exitMisuse, "--v could be --validate-config or --version"},
		{"--else", "", exitMisuse, "there is no option --else"},
		{"--", "", exitMisuse, "there is no option --"},
		{"--version=2", "", exitMisuse, "--version takes no value"},
		{"-c DIR agent", "", exitMisuse, `unexpected argument "agent": options come after the command`},
		{"-c DIR -", "", exitMisuse, `unexpected argument "-"`},
	} {
		t.Run(test.args, func(t *testing.T) {
			paths := strings.NewReplacer("DIR", dir, "FILE", file, "NONE", none)
			var err bytes.Buffer
			got, code := translate(strings.Fields(paths.Replace(test.args)), Env{Stderr: &err, ConfigDirs: []string{none, none + ".d"}})
			if want := strings.Fields(paths.Replace(test.want)); !slices.Equal(got, want) || code != test.code {
				t.Errorf("became %q with exit code %d, want %q, %d", got, code, want, test.code)
			}
			if text := paths.Replace(test.err); !strings.Contains(err.String(), text) || (text == "" && err.Len() > 0) {
				t.Errorf("said %q, want %q", err.String(), text)
			}
		})
	}
}

// Without -c the folder that old versions knew is taken, if it is there.
func TestTranslateDefault(t *testing.T) {
	dir := t.TempDir()
	var err bytes.Buffer
	got, code := translate([]string{"-l", "INFO"}, Env{Stderr: &err, ConfigDirs: []string{"/does/not/exist", dir}})
	if want := []string{"agent", "-config-dir", dir, "-log-level", "info"}; !slices.Equal(got, want) || code != exitOK {
		t.Errorf("became %q with exit code %d", got, code)
	}
	for _, args := range [][]string{{"-l", "INFO"}, {"--job-set-id"}, {"-c", "/does/not/exist.d"}, {"-v", "-c", "/does/not/exist.d"}} {
		run(t, nil, args...).expect(t, exitFailed, nil, []string{"error: there is no configuration in /does/not/exist.d"})
	}
}

func TestShellJoin(t *testing.T) {
	for want, args := range map[string][]string{
		"a -b=c /d.e":   {"a", "-b=c", "/d.e"},
		`'a b' '' '$c'`: {"a b", "", "$c"},
		`'it'\''s'`:     {"it's"},
	} {
		if got := shellJoin(args); got != want {
			t.Errorf("%q became %s, want %s", args, got, want)
		}
	}
}
