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

// suspects are lines of an env_file that hardly mean what they look like. They are told
// by number alone: what stands there may be a secret.
type suspects struct {
	names  []int // the name is empty or holds blanks, as in: export A=b
	quotes []int // the value is in quotes, which stay
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
		var odd suspects
		f.vars, odd, f.err = readEnvFile(path)
		b.watch(path)
		if errors.Is(f.err, os.ErrNotExist) && !filepath.IsAbs(n.text) {
			if vars, lines, err := readEnvFile(n.text); !errors.Is(err, os.ErrNotExist) {
				f, odd = envFile{vars, err, true}, lines
				b.watch(n.text)
			}
		}
		b.envFiles[path] = f
		b.suspect(n, odd)
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

// suspect warns of odd lines, once for each file.
func (b *jobBuilder) suspect(n *node, odd suspects) {
	if len(odd.names) > 0 {
		b.warn(n, "env_file", "env_file "+n.text+": "+linesText(odd.names)+": no shell can refer to a variable of such a name",
			"write NAME=value, without export and without blanks in the name")
	}
	if len(odd.quotes) > 0 {
		b.warn(n, "env_file", "env_file "+n.text+": "+linesText(odd.quotes)+": the quotes are part of the value",
			"remove them: a value goes to the end of its line, blanks in it included")
	}
}

// linesText names the first few of some lines.
func linesText(lines []int) string {
	const most = 5
	text := "line "
	if len(lines) > 1 {
		text = "lines "
	}
	var words []string
	for _, n := range lines[:min(len(lines), most)] {
		words = append(words, strconv.Itoa(n))
	}
	if more := len(lines) - most; more > 0 {
		words = append(words, strconv.Itoa(more)+" more")
	}
	return text + andList(words)
}

// readEnvFile reads lines of KEY=value. Nothing is quoted or expanded, and an error
// names the line, not its content.
func readEnvFile(path string) (vars []scheduler.EnvVar, odd suspects, err error) {
	text, err := readFile(path)
	if err != nil {
		return nil, odd, err
	}
	if len(text) > maxFileSize {
		return nil, odd, errors.New("it is too large")
	}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.Trim(strings.TrimSuffix(line, "\r"), " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, odd, errors.New("line " + strconv.Itoa(i+1) + " has no =")
		}
		if strings.Contains(line, "\x00") {
			return nil, odd, errors.New("line " + strconv.Itoa(i+1) + " holds a NUL character")
		}
		v := scheduler.EnvVar{Key: strings.Trim(key, " "), Value: strings.Trim(value, " ")}
		if v.Key == "" || strings.ContainsAny(v.Key, " \t") {
			odd.names = append(odd.names, i+1)
		}
		if n := len(v.Value); n >= 2 && (v.Value[0] == '"' || v.Value[0] == '\'') && v.Value[n-1] == v.Value[0] {
			odd.quotes = append(odd.quotes, i+1)
		}
		vars = append(vars, v)
	}
	return vars, odd, nil
}
