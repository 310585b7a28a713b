//go:build unix

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		writeFile(t, path, text, mode)
		return path
	}
	noperm := file("noperm.sh", "#!/bin/sh\necho no\n", 0o644)
	broken := file("broken.bin", "ELF broken", 0o755)
	orphaned := file("orphaned.sh", "#!/no/such/interpreter -x\n", 0o755)
	barred := file("barred.sh", "#!"+noperm+"\n", 0o755)

	for name, c := range map[string]struct {
		argv []string
		dir  string
		path string
		code int
		text string
	}{
		"missing program":     {argv: []string{"./no-such-program", "--x"}, code: 127, text: "program ./no-such-program not found"},
		"missing in PATH":     {argv: []string{"no-such-program"}, code: 127, text: "program no-such-program not found in PATH"},
		"missing shell":       {argv: []string{"./no-such-shell", "-c", "echo hi"}, code: 127, text: "program ./no-such-shell not found"},
		"no execute bit":      {argv: []string{noperm}, code: 126, text: noperm + " is not executable"},
		"no bit in PATH":      {argv: []string{"noperm.sh"}, path: dir, code: 126, text: noperm + " is not executable"},
		"wrong format":        {argv: []string{broken}, code: 126, text: broken + " is not in a format that can be executed"},
		"a directory":         {argv: []string{dir}, code: 126, text: dir + " is a directory"},
		"below a file":        {argv: []string{noperm + "/x"}, code: 127, text: "not found"},
		"missing interpreter": {argv: []string{orphaned}, code: 127, text: "its interpreter /no/such/interpreter does not exist"},
		"barred interpreter":  {argv: []string{barred}, code: 126, text: "its interpreter " + noperm + " may not be executed"},
		"missing directory":   {argv: []string{"/bin/true"}, dir: "/no/such/dir", code: 127, text: "working directory /no/such/dir does not exist"},
		"directory, in PATH":  {argv: []string{"no-such-program"}, dir: "/no/such/dir", code: 127, text: "working directory /no/such/dir does not exist"},
		"directory is a file": {argv: []string{"/bin/true"}, dir: noperm, code: 127, text: "working directory " + noperm + " is not a directory"},
		"long argument":       {argv: []string{"/bin/sh", "-c", "true", strings.Repeat("x", 200_000)}, code: 126, text: "argument list too long"},
		"empty":               {argv: []string{""}, code: 126, text: "the command is empty"},
		"no command":          {code: 126, text: "the command is empty"},
		"NUL":                 {argv: []string{"/bin/echo", "a\x00b"}, code: 126, text: "NUL byte"},
	} {
		t.Run(name, func(t *testing.T) {
			const secret = "hunter2-visible"
			spec := shell("")
			spec.Argv, spec.Dir = c.argv, c.dir
			spec.Env = []string{"PATH=/usr/bin:/bin:" + c.path, "SECRET_TOKEN=" + secret}
			p := Start(spec)
			select {
			case <-p.Done():
			default:
				t.Error("not done at once")
			}
			r := finish(t, p)
			if r.ExitCode != c.code || !strings.Contains(r.StartError, c.text) {
				t.Errorf("exit code %d, %q, want %d, %q", r.ExitCode, r.StartError, c.code, c.text)
			}
			if strings.Contains(r.StartError, secret) || len(r.StartError) > 1000 {
				t.Errorf("the text tells too much: %.1000q", r.StartError)
			}
			if r.Started() || p.PID() != 0 || p.GivenPID() != 0 || r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt) {
				t.Errorf("result %+v", r)
			}
			if !r.Stdout.Captured || !r.Stdout.Empty() {
				t.Errorf("stdout %+v", r.Stdout)
			}
			p.Cancel()
			if lines := p.Lines(); len(lines) > 0 || !p.Log().Ended() {
				t.Errorf("lines %v of a run that never was", lines)
			}
		})
	}
}

func TestUserSwitch(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("switching users needs root")
	}
	spec := shell("id -u; id -g; id -G")
	for name, c := range map[string]struct {
		cred Credential
		want string
	}{
		"groups":        {Credential{UID: 65534, GID: 65534, Groups: []uint32{65534, 4242}}, "65534\n65534\n65534 4242\n"},
		"only own":      {Credential{UID: 65534, GID: 65534, Groups: []uint32{65534}}, "65534\n65534\n65534\n"},
		"none":          {Credential{UID: 4711, GID: 4712}, "4711\n4712\n4712\n"},
		"group of root": {Credential{UID: 65534, GID: 0, Groups: []uint32{65534}}, "65534\n0\n0 65534\n"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := spec
			spec.Cred = &c.cred
			if r := finish(t, Start(spec)); r.Stdout.Text != c.want || r.ExitCode != 0 {
				t.Errorf("exit code %d, ids %q, want %q, stderr %q", r.ExitCode, r.Stdout.Text, c.want, r.Stderr.Text)
			}
		})
	}
}

func TestWhatTheUserMayNot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("switching users needs root")
	}
	closed := t.TempDir()
	program := filepath.Join(closed, "job.sh")
	writeFile(t, program, "#!/bin/sh\n", 0o755)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	nobody := &Credential{UID: 65534, GID: 65534}
	for name, c := range map[string]struct {
		argv []string
		dir  string
		text string
	}{
		"program":   {[]string{program}, "", program + " is not executable by uid 65534, gid 65534"},
		"directory": {[]string{"/bin/true"}, closed, "working directory " + closed + " may not be entered by uid 65534, gid 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell("")
			spec.Argv, spec.Dir, spec.Cred = c.argv, c.dir, nobody
			if r := finish(t, Start(spec)); r.ExitCode != 126 || r.StartError != c.text {
				t.Errorf("exit code %d, %q, want 126, %q", r.ExitCode, r.StartError, c.text)
			}
		})
	}
}

func TestUserSwitchFails(t *testing.T) {
	// Without the capability to switch: in a user namespace, or as another user.
	if os.Geteuid() == 0 {
		t.Run("as nobody", func(t *testing.T) {
			rerun(t, "TestUserSwitchFails", &Credential{UID: 65534, GID: 65534})
		})
		return
	}
	spec := shell("id")
	spec.Cred = &Credential{UID: 0, GID: 0}
	r := finish(t, Start(spec))
	if r.ExitCode != 126 || !strings.HasPrefix(r.StartError, "switch to uid 0, gid 0 failed") {
		t.Errorf("exit code %d, %q", r.ExitCode, r.StartError)
	}
}

// rerun runs a test of this binary as another user.
func rerun(t *testing.T, name string, cred *Credential) {
	t.Helper()
	dir, err := os.MkdirTemp("", "yacron2-run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "test"), string(binary), 0o755)
	spec := shell("")
	spec.Argv = []string{"./test", "-test.run=^" + name + "$", "-test.v"}
	spec.Dir, spec.Cred = dir, cred
	r := finish(t, Start(spec))
	if r.ExitCode != 0 || !strings.Contains(r.Stdout.Text, "--- PASS: "+name) {
		t.Errorf("exit code %d, %s\n%s%s", r.ExitCode, r.StartError, r.Stdout.Text, r.Stderr.Text)
	}
}
