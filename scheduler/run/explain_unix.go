//go:build unix

package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// explain gives the exit code and the text for a command that was not started. The
// system tells an errno and not which step it comes from, so the likely causes are
// looked at afterwards. The text names the program or directory, never an argument
// or a variable.
func explain(s *Spec, err error) (code int, text string) {
	var missing *notInPath
	switch {
	case errors.As(err, &missing):
		if missing.barred != "" {
			return ExitNotExecutable, missing.Error()
		}
		if code, text := explainDir(s); code != 0 {
			return code, text
		}
		return ExitNotFound, missing.Error()
	case errors.Is(err, errNoCommand), errors.Is(err, errNUL):
		return ExitNotExecutable, err.Error()
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ExitNotFound, withoutPath(err).Error()
	}
	switch errno {
	case syscall.E2BIG:
		return ExitNotExecutable, "argument list too long: one argument or variable, or all of them together, exceed the limit of the system"
	case syscall.EMFILE, syscall.ENFILE, syscall.EBADF: // the last: no number above all
		return ExitNotFound, "the agent is out of file descriptors"
	case syscall.EAGAIN:
		return ExitNotFound, "the limit of processes is reached"
	case syscall.ENOMEM:
		return ExitNotFound, "there is not enough memory"
	case syscall.EPERM, syscall.EINVAL:
		if s.Cred != nil {
			return ExitNotExecutable, fmt.Sprintf("switch to uid %d, gid %d failed: %v", s.Cred.UID, s.Cred.GID, errno)
		}
	}
	if code, text := explainDir(s); code != 0 {
		return code, text
	}
	return explainProgram(s, errno)
}

// explainDir says what is wrong with the working directory; code 0: nothing.
func explainDir(s *Spec) (code int, text string) {
	if s.Dir == "" {
		return 0, ""
	}
	info, err := os.Stat(s.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ExitNotFound, "working directory " + s.Dir + " does not exist"
	case err != nil:
		return ExitNotExecutable, fmt.Sprintf("working directory %s: %v", s.Dir, withoutPath(err))
	case !info.IsDir():
		return ExitNotFound, "working directory " + s.Dir + " is not a directory"
	case !reachable(s.Dir, s.Cred):
		return ExitNotExecutable, "working directory " + s.Dir + " may not be entered" + asUser(s)
	}
	return 0, ""
}

func explainProgram(s *Spec, errno syscall.Errno) (code int, text string) {
	name := s.Argv[0]
	path := s.abs(name)
	if !strings.Contains(name, "/") {
		if found, err := s.program(); err == nil {
			path = s.abs(found)
		}
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		if _, err := os.Stat(path); err == nil {
			if by := interpreter(path); by != "" {
				return ExitNotFound, fmt.Sprintf("program %s: its interpreter %s does not exist", name, by)
			}
			return ExitNotFound, fmt.Sprintf("program %s: the loader that it needs does not exist", name)
		}
		return ExitNotFound, "program " + name + " not found"
	case syscall.EACCES:
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			return ExitNotExecutable, name + " is a directory"
		}
		if by := interpreter(path); by != "" && reachable(path, s.Cred) {
			return ExitNotExecutable, fmt.Sprintf("%s or its interpreter %s may not be executed%s", name, by, asUser(s))
		}
		return ExitNotExecutable, fmt.Sprintf("%s is not executable%s", name, asUser(s))
	case syscall.ENOEXEC:
		return ExitNotExecutable, name + " is not in a format that can be executed"
	case syscall.ETXTBSY:
		return ExitNotExecutable, name + " is being written to"
	}
	return ExitNotExecutable, fmt.Sprintf("%s may not be executed: %v", name, errno)
}

func asUser(s *Spec) string {
	if s.Cred == nil {
		return ""
	}
	return fmt.Sprintf(" by uid %d, gid %d", s.Cred.UID, s.Cred.GID)
}

// reachable reports whether the mode bits of path and of the directories above it
// let the credential execute it or enter it. Access lists and the like are not
// considered; without a credential the answer is that of the agent's own ids.
func reachable(path string, cred *Credential) bool {
	if cred == nil {
		cred = ownCredential()
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	for {
		info, err := os.Stat(path)
		if err != nil {
			return false
		}
		if !permits(info, cred) {
			return false
		}
		if path == "/" {
			return true
		}
		path = filepath.Dir(path)
	}
}

func ownCredential() *Credential {
	cred := &Credential{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())} //nolint:gosec // ids of the kernel
	groups, _ := os.Getgroups()
	for _, g := range groups {
		cred.Groups = append(cred.Groups, uint32(g)) //nolint:gosec // likewise
	}
	return cred
}

func permits(info os.FileInfo, cred *Credential) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	mode := info.Mode().Perm()
	switch {
	case cred.UID == 0:
		return info.IsDir() || mode&0o111 != 0
	case cred.UID == owner.Uid:
		return mode&0o100 != 0
	case cred.GID == owner.Gid || slices.Contains(cred.Groups, owner.Gid):
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

// interpreter returns the program named in the first line of a script, or "".
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
