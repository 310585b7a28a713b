package config

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yacron2/yacron2/scheduler"
)

// envFile is an env_file that was read once.
type envFile struct {
	vars    []scheduler.EnvVar
	err     error
	outside bool // found in the working directory only
}

// environment reads env_file, then environment on top of it.
func (b *jobBuilder) environment() {
	var vars []scheduler.EnvVar
	at := map[string]int{}
	set := func(v scheduler.EnvVar) {
		if i, ok := at[v.Key]; ok {
			vars[i] = v
			return
		}
		at[v.Key] = len(vars)
		vars = append(vars, v)
	}
	if n := b.all.get("env_file"); n != nil && n.kind == scalar {
		for _, v := range b.envFile(n) {
			set(v)
		}
	}
	if n := b.all.get("environment"); n != nil && n.kind == list {
		for _, item := range n.items {
			k, v := item.get("key"), item.get("value")
			if k == nil || v == nil || k.kind != scalar || v.kind != scalar {
				continue
			}
			if strings.ContainsAny(k.text, "=\x00") {
				b.failHidden(k.pos, "environment", "the name of a variable cannot hold = or NUL: "+quote(k.text))
			}
			if strings.Contains(v.text, "\x00") {
				b.failHidden(v.pos, "environment", "the value of "+quote(k.text)+" holds a NUL character")
			}
			set(scheduler.EnvVar{Key: k.text, Value: v.text})
		}
	}
	b.job.Environment = vars
}

// envFile reads the variables of an env_file, relative to the file that names it, or
// (as it used to be) to the working directory.
func (b *jobBuilder) envFile(n *node) []scheduler.EnvVar {
	path := n.text
	if path == "" {
		b.fail(n, "env_file", "env_file is blank", "remove the key")
		return nil
	}
	if !filepath.IsAbs(path) && n.src != nil {
		path = filepath.Join(filepath.Dir(n.src.path), path)
	}
	f, ok := b.envFiles[path]
	if !ok {
		f.vars, f.err = readEnvFile(path)
		b.watch(path)
		if errors.Is(f.err, os.ErrNotExist) && !filepath.IsAbs(n.text) {
			if vars, err := readEnvFile(n.text); !errors.Is(err, os.ErrNotExist) {
				f = envFile{vars, err, true}
				b.watch(n.text)
			}
		}
		b.envFiles[path] = f
	}
	switch {
	case f.err != nil:
		b.fail(n, "env_file", "env_file "+n.text+": "+reason(f.err), "")
	case f.outside:
		b.warn(n, "env_file", "env_file "+n.text+" was found in the working directory of the agent, not beside this file",
			"move it beside this file, or write its absolute path")
	}
	return f.vars
}

// readEnvFile reads lines of KEY=value. Nothing is quoted or expanded, and an error
// names the line, not its content.
func readEnvFile(path string) ([]scheduler.EnvVar, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, errors.New("it is too large")
	}
	var vars []scheduler.EnvVar
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.Trim(strings.TrimSuffix(line, "\r"), " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, errors.New("line " + strconv.Itoa(i+1) + " has no =")
		}
		if strings.Contains(line, "\x00") {
			return nil, errors.New("line " + strconv.Itoa(i+1) + " holds a NUL character")
		}
		vars = append(vars, scheduler.EnvVar{Key: strings.Trim(key, " "), Value: strings.Trim(value, " ")})
	}
	return vars, nil
}
