package config

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// MaxNameLength is the longest job name, in characters.
const MaxNameLength = 128

// jobs turns the jobs of all files into the effective ones.
func (l *loader) jobs(raw []rawJob) []*scheduler.Job {
	out := make([]*scheduler.Job, 0, len(raw))
	first := make(map[string]pos, len(raw))
	for i := range raw {
		r := &raw[i]
		b := jobBuilder{loader: l, own: r.node, defaults: r.defaults, all: merged(r.defaults, r.node, jobKeys)}
		job := b.build()
		if n := r.node.get("name"); n != nil && n.kind == scalar && job.Name != "" {
			if at, ok := first[job.Name]; ok {
				b.fail(n, "name", "a second job with this name, the first one is in "+place(at), renameHint(n))
			} else {
				first[job.Name] = n.pos
			}
		}
		out = append(out, job)
	}
	l.herds(out, raw)
	return out
}

// renameHint says what to rename: jobs of a crontab are named after their file.
func renameHint(name *node) string {
	if name.src != nil && name.src.dialect == crontabDialect {
		return "jobs of a crontab are named after their file and line: rename one of the files"
	}
	return "rename one of them"
}

// jobBuilder turns one merged job into its typed form. What has the wrong form was
// reported by the checker already and is passed over here.
type jobBuilder struct {
	*loader
	own      *node // as written
	defaults *node
	all      *node // both merged
	job      *scheduler.Job
}

func (b *jobBuilder) fail(n *node, key, message, hint string) {
	b.failAt(n.pos, key, message, hint)
}

func (b *jobBuilder) failAt(at pos, key, message, hint string) {
	b.out.add(at, Diagnostic{Severity: Error, Job: b.job.Name, Key: key, Message: message, Hint: hint})
}

// failHidden reports a problem in a line that may hold what nobody should see.
func (b *jobBuilder) failHidden(at pos, key, message string) {
	b.out.add(at, Diagnostic{Severity: Error, Job: b.job.Name, Key: key, Message: message, hidden: true})
}

func (b *jobBuilder) warn(n *node, key, message, hint string) {
	b.out.add(n.pos, Diagnostic{Severity: Warning, Job: b.job.Name, Key: key, Message: message, Hint: hint})
}

// defaultShell is the shell of jobs that name none. On Windows it is none: the command
// goes to the platform's own processor.
func defaultShell() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "/bin/sh"
}

// defaultJob returns what a job is unless it says otherwise.
func (b *jobBuilder) defaultJob() *scheduler.Job {
	return &scheduler.Job{
		Shell:             defaultShell(),
		Enabled:           true,
		UTC:               true,
		ConcurrencyPolicy: scheduler.Allow,
		ClusterPolicy:     election.Leader,
		CaptureStderr:     true,
		SaveLimit:         4096,
		MaxLineLength:     16 << 20,
		StreamPrefix:      "[{job_name} {stream_name}] ",
		StartingDeadline:  b.startingDeadline,
		KillTimeout:       seconds(30),
		FailsWhen:         scheduler.FailsWhen{ProducesStderr: true, NonzeroReturn: true},
		Retry:             scheduler.Retry{InitialDelay: seconds(1), MaximumDelay: seconds(300), Multiplier: 2},
	}
}

func (b *jobBuilder) build() *scheduler.Job {
	b.job = b.defaultJob()
	if n := b.own.get("name"); n != nil && n.kind == scalar {
		b.job.Name = n.text
		b.name(n)
	}
	for i := range b.all.entries {
		if e := &b.all.entries[i]; !e.value.bad {
			b.key(e.key, e.value)
		}
	}
	b.replacedLists()
	b.zone()
	b.schedule()
	b.environment()
	b.account()
	return b.job
}

func (b *jobBuilder) name(n *node) {
	switch {
	case n.text == "":
		b.fail(n, "name", "the name is empty", "")
	case utf8.RuneCountInString(n.text) > MaxNameLength:
		b.fail(n, "name", "the name has "+strconv.Itoa(utf8.RuneCountInString(n.text))+" characters, at most "+strconv.Itoa(MaxNameLength)+" are allowed", "")
	case strings.ContainsFunc(n.text, func(r rune) bool { return !unicode.IsPrint(r) }):
		b.fail(n, "name", "the name "+quote(n.text)+" holds characters that cannot be printed", "")
	}
}

// key reads one key that needs no other.
func (b *jobBuilder) key(key string, n *node) {
	j := b.job
	switch key {
	case "command":
		b.command(n)
	case "shell":
		textOf(n, &j.Shell)
		b.noNUL(n, key)
	case "enabled":
		boolOf(n, &j.Enabled)
	case "utc":
		boolOf(n, &j.UTC)
	case "captureStdout":
		boolOf(n, &j.CaptureStdout)
	case "captureStderr":
		boolOf(n, &j.CaptureStderr)
	case "concurrencyPolicy":
		if slices.Contains(jobKeys.key(key).enum, n.text) {
			j.ConcurrencyPolicy = scheduler.ConcurrencyPolicy(n.text)
		}
	case "clusterPolicy":
		if p, err := election.ParsePolicy(n.text); err == nil {
			j.ClusterPolicy = p
		}
	case "saveLimit":
		if v, ok := intOf(n); ok {
			b.atLeast(n, key, v, 0)
			j.SaveLimit = v
		}
	case "maxLineLength":
		if v, ok := intOf(n); ok {
			b.atLeast(n, key, v, 1)
			j.MaxLineLength = v
		}
	case "streamPrefix":
		textOf(n, &j.StreamPrefix)
		b.streamPrefix(n)
	case "workingDirectory":
		b.workingDirectory(n)
	case "startingDeadline":
		if n.kind == scalar {
			j.StartingDeadline = b.deadline(n, j.Name)
			j.OwnDeadline = true
		}
	case "executionTimeout":
		if v, ok := b.number(n, key, above); ok && seconds(v) < forever {
			j.ExecutionTimeout = seconds(v)
		}
	case "killTimeout":
		if v, ok := b.number(n, key, notBelow); ok {
			j.KillTimeout = seconds(v)
		}
	case "failsWhen":
		boolOf(n.get("producesStdout"), &j.FailsWhen.ProducesStdout)
		boolOf(n.get("producesStderr"), &j.FailsWhen.ProducesStderr)
		boolOf(n.get("nonzeroReturn"), &j.FailsWhen.NonzeroReturn)
		boolOf(n.get("always"), &j.FailsWhen.Always)
	case "onFailure":
		b.retry(n.get("retry"))
		j.OnFailure = b.hooks(key, n)
	case "onPermanentFailure":
		j.OnPermanentFailure = b.hooks(key, n)
	case "onSuccess":
		j.OnSuccess = b.hooks(key, n)
	case "onMiss":
		j.OnMiss = b.hooks(key, n)
	case "statsd":
		j.Statsd = b.statsd(n)
	}
}

func (b *jobBuilder) command(n *node) {
	switch n.kind {
	case scalar:
		b.job.Command = scheduler.Command{Line: n.text}
		b.noNUL(n, "command")
	case list:
		if len(n.items) == 0 {
			b.fail(n, "command", "the command is an empty list", "name the program, then its arguments")
		} else if first := n.items[0]; first.blank() {
			b.fail(first, "command", "the first entry of the command is empty: it names no program", "name the program, then its arguments")
		}
		argv := make([]string, 0, len(n.items))
		for _, item := range n.items {
			argv = append(argv, item.text)
			b.noNUL(item, "command")
		}
		b.job.Command = scheduler.Command{Argv: argv}
	}
}

// noNUL refuses what no process can be given.
func (b *jobBuilder) noNUL(n *node, key string) {
	if n.kind == scalar && strings.Contains(n.text, "\x00") {
		b.fail(n, key, spell(n, lastKey(key))+" holds a NUL character, which no process can be given", "")
	}
}

func (b *jobBuilder) atLeast(n *node, key string, v, least int) {
	if v < least {
		b.fail(n, key, spell(n, key)+" must be at least "+strconv.Itoa(least)+", not "+quote(n.text), "")
	}
}

// replacedLists tells of shell reports whose list of arguments replaces an inherited
// one: yacron2 1.2 appended it.
func (b *jobBuilder) replacedLists() {
	for _, hook := range []string{"onFailure", "onPermanentFailure", "onSuccess"} {
		path := func(n *node) *node { return n.get(hook).get("report").get("shell").get("command") }
		own, inherited := path(b.own), path(b.defaults)
		if own != nil && inherited != nil && own.kind == list && inherited.kind == list {
			b.out.add(own.pos, Diagnostic{Severity: Note, Job: b.job.Name, Key: hook + ".report.shell.command",
				Message: "this list replaces the one of the defaults; yacron2 1.2 appended it"})
		}
	}
}

// lastKey returns the last part of a path of keys.
func lastKey(path string) string {
	return path[strings.LastIndexByte(path, '.')+1:]
}

// bound is the lower bound of a number.
type bound uint8

const (
	above    bound = iota // > 0
	notBelow              // ≥ 0
)

// number reads a number and checks its range; not-a-number is in no range.
func (b *jobBuilder) number(n *node, key string, low bound) (float64, bool) {
	if n == nil || n.kind != scalar {
		return 0, false
	}
	v, ok := parseFloat(n.text)
	switch {
	case !ok:
		return 0, false
	case low == above && !(v > 0):
		b.fail(n, key, spell(n, lastKey(key))+" must be above 0, not "+quote(n.text), "")
	case low == notBelow && !(v >= 0):
		b.fail(n, key, spell(n, lastKey(key))+" must be 0 or more, not "+quote(n.text), "")
	}
	return v, true
}

func (b *jobBuilder) retry(n *node) {
	if n == nil || n.kind != mapping {
		return
	}
	r := &b.job.Retry
	if v, ok := intOf(n.get("maximumRetries")); ok {
		if v < -1 {
			b.fail(n.get("maximumRetries"), "onFailure.retry.maximumRetries",
				spell(n, "maximumRetries")+" must be -1 (endless) or more, not "+strconv.Itoa(v), "")
		}
		r.Maximum = v
	}
	if v, ok := b.number(n.get("initialDelay"), "onFailure.retry.initialDelay", notBelow); ok {
		r.InitialDelay = seconds(v)
	}
	if v, ok := b.number(n.get("maximumDelay"), "onFailure.retry.maximumDelay", above); ok {
		r.MaximumDelay = seconds(v)
	}
	if v, ok := b.number(n.get("backoffMultiplier"), "onFailure.retry.backoffMultiplier", above); ok {
		r.Multiplier = v
	}
	if j := n.get("jitter"); j != nil {
		if v, ok := parseFloat(j.text); ok {
			if !(v >= 0 && v <= 1) {
				b.fail(j, "onFailure.retry.jitter", "jitter must be 0 to 1, not "+quote(j.text), "")
			}
			r.Jitter = v
		}
	}
}

// streamPrefix checks the placeholders: {job_name}, {stream_name}, and doubled braces
// for literal ones.
func (b *jobBuilder) streamPrefix(n *node) {
	const hint = "the placeholders are {job_name} and {stream_name}; write {{ and }} for braces"
	text := n.text
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "{{"), strings.HasPrefix(text[i:], "}}"):
			i++
		case text[i] == '}':
			b.failAt(n.at(i), "streamPrefix", "a } without a { in "+spell(n, "streamPrefix"), hint)
			return
		case text[i] == '{':
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				b.failAt(n.at(i), "streamPrefix", "a { that is never closed in "+spell(n, "streamPrefix"), hint)
				return
			}
			if name := text[i+1 : i+end]; name != "job_name" && name != "stream_name" {
				b.failAt(n.at(i), "streamPrefix", "unknown placeholder "+quote(text[i:i+end+1])+" in "+spell(n, "streamPrefix"), hint)
				return
			}
			i += end
		}
	}
}

func (b *jobBuilder) workingDirectory(n *node) {
	textOf(n, &b.job.WorkingDirectory)
	b.noNUL(n, "workingDirectory")
	if n.kind == scalar && !filepath.IsAbs(n.text) {
		b.fail(n, "workingDirectory", spell(n, "workingDirectory")+" must be an absolute path, not "+quote(n.text), "")
	}
}

// textOf, boolOf and intOf read a scalar if it is one of the right form.

func textOf(n *node, to *string) {
	if n != nil && n.kind == scalar {
		*to = n.text
	}
}

func boolOf(n *node, to *bool) {
	if n != nil && n.kind == scalar {
		if v, ok := parseBool(n.text); ok {
			*to = v
		}
	}
}

func intOf(n *node) (int, bool) {
	if n == nil || n.kind != scalar {
		return 0, false
	}
	return parseInt(n.text)
}
