package run

import (
	"os"
	"os/exec"
	"strings"
)

func (s *Spec) program() (string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return "", errNoCommand
	}
	for _, list := range [...][]string{s.Argv, s.Env, {s.Dir}} {
		for _, text := range list {
			if strings.IndexByte(text, 0) >= 0 {
				return "", errNUL
			}
		}
	}
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return "", &notInPath{name: s.Argv[0]}
	}
	return path, nil
}

// explain gives the exit code and the text for a command that was not started.
func explain(s *Spec, err error) (code int, text string) {
	if info, statErr := os.Stat(s.Dir); s.Dir != "" && (statErr != nil || !info.IsDir()) {
		return ExitNotFound, "working directory " + s.Dir + " does not exist"
	}
	if os.IsPermission(err) {
		return ExitNotExecutable, s.Argv[0] + " may not be executed"
	}
	return ExitNotFound, "not started: " + withoutPath(err).Error()
}
