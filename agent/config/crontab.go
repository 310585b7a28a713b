package config

import (
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yacron2/yacron2/scheduler"
)

// crontabNicknames are the macros that cron itself knows.
var crontabNicknames = []string{"@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// crontabAssignment is a line that sets a variable for the entries below it.
var crontabAssignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$`)

// looksLikeCrontab judges a text without a telling name by its first line that is
// neither blank nor a comment.
func looksLikeCrontab(text []byte) bool {
	for line := range crontabLines(text) {
		return crontabAssignment.MatchString(line) || looksLikeEntry(line)
	}
	return false
}

// hasEntries judges a text by its first line that is no assignment either, which files
// with variables alone don't have.
func hasEntries(text []byte) bool {
	for line := range crontabLines(text) {
		if !crontabAssignment.MatchString(line) {
			return looksLikeEntry(line)
		}
	}
	return false
}

// crontabLines lists the lines of a text that are neither blank nor comments.
func crontabLines(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(text)) {
			line = strings.Trim(line, " \t\r\n\ufeff")
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

func looksLikeEntry(line string) bool {
	if strings.HasPrefix(line, "@") {
		return true
	}
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return false
	}
	_, err := scheduler.ParseSchedule(strings.Join(fields[:5], " "), scheduler.DayMatchOr)
	return err == nil
}

// crontabReader turns the lines of a crontab into jobs. They take no defaults: what
// cron would have done with a line does not depend on other files.
type crontabReader struct {
	*loader
	src         *source
	base        string // file name, first part of the job names
	variables   []entry
	jobs        []*node
	problems    []problem
	firstWords  []firstWord
	zoneTold    bool            // that times are not those of the machine's zone
	users       map[string]bool // words that were looked up
	sureOfUsers bool
}

// firstWord is the first word of a command, as far as it may be a user's name.
type firstWord struct {
	job, user string
	at        pos
}

// parseCrontab reads one crontab file.
func (l *loader) parseCrontab(src *source) (*node, []problem) {
	if ps := checkText(src); ps != nil {
		return nil, ps
	}
	r := crontabReader{loader: l, src: src, base: filepath.Base(src.path), users: map[string]bool{}}
	number := int32(0)
	for line := range strings.Lines(strings.TrimPrefix(string(src.text), "\ufeff")) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		text := strings.TrimLeft(line, " \t")
		if text == "" || text[0] == '#' {
			continue
		}
		at := pos{src, number, int32(len(line)-len(text)) + 1}
		if m := crontabAssignment.FindStringSubmatchIndex(text); m != nil {
			value := text[m[4]:m[5]]
			r.assign(text[m[2]:m[3]], value, at, at.moved(utf8.RuneCountInString(text[:m[4]])))
			continue
		}
		r.entry(text, at)
	}
	r.warnOfUsers()
	// What is wrong with a line is no reason not to check the others.
	jobs := &node{kind: list, pos: pos{src, 1, 1}, items: r.jobs}
	return &node{kind: mapping, pos: jobs.pos, entries: []entry{{"jobs", jobs.pos, jobs}}}, r.problems
}

func (r *crontabReader) fail(at pos, message, hint string) {
	r.problems = append(r.problems, complaint(at, message, hint))
}

// assign sets a variable for the entries below.
func (r *crontabReader) assign(name, value string, at, valueAt pos) {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
		valueAt = valueAt.moved(1)
	}
	switch name {
	case "CRON_TZ":
		if z := r.zoneNamed(value); z.err != nil {
			r.fail(valueAt, "CRON_TZ: unknown time zone "+quote(value), zoneHint(value))
			return
		}
	case "MAILTO":
		if value != "" {
			r.warn(at, "", "MAILTO is handed to the commands only, no mail is sent", "report failures with onFailure.report.mail in a YAML or HCL file")
		}
	}
	v := entry{name, at, &node{pos: valueAt, text: value}}
	if i := slices.IndexFunc(r.variables, func(e entry) bool { return e.key == name }); i >= 0 {
		// Jobs above keep the old list.
		r.variables = slices.Clone(r.variables)
		r.variables[i] = v
		return
	}
	r.variables = append(slices.Clip(r.variables), v)
}

// entry reads one job.
func (r *crontabReader) entry(text string, at pos) {
	schedule, rest := "", ""
	if strings.HasPrefix(text, "@") {
		schedule, rest = cutWord(text)
		if !slices.Contains(crontabNicknames, schedule) {
			hint := "the nicknames are " + orList(crontabNicknames)
			if schedule == "@every" {
				hint = "only YAML and HCL files have it: write the job there, or give five time fields"
			} else if near := nearest(schedule, crontabNicknames); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.fail(at, "unknown nickname "+quote(schedule), hint)
			return
		}
	} else {
		rest = text
		for range 5 {
			_, rest = cutWord(rest)
		}
		schedule = strings.TrimRight(text[:len(text)-len(rest)], " \t")
		if fields := len(strings.Fields(schedule)); fields < 5 || rest == "" && fields == 5 {
			if fields < 5 {
				p := complaint(at, "an entry needs five time fields and a command, not "+strconv.Itoa(fields)+" word(s)",
					"a variable is NAME=value, without export or dots in its name")
				// It may be a variable in a form that nobody can tell.
				first, _ := cutWord(text)
				p.hide = !timeField.MatchString(first) && variableAt(text) == len(text)
				r.problems = append(r.problems, p)
			} else {
				r.fail(at, "this entry has no command", "write five time fields, then the command")
			}
			return
		}
	}
	if rest == "" {
		r.fail(at, "this entry has no command", "write the command behind the "+schedule)
		return
	}
	commandAt := at.moved(utf8.RuneCountInString(text[:len(text)-len(rest)]))
	command, bare := unescapePercent(rest)
	if bare >= 0 {
		r.fail(commandAt.moved(utf8.RuneCountInString(rest[:bare])), "a bare % in a command: cron would end the command here and give it the rest as input",
			`write \% for the character; for input, use a pipe: printf 'one\ntwo\n' | command`)
		return
	}
	name := r.base + ":" + strconv.Itoa(int(at.line))
	r.note(name, schedule, at)
	r.noteZone(name, schedule, at)
	r.sixthField(name, rest, commandAt)
	r.continued(name, rest, commandAt)
	r.remember(name, rest, commandAt)
	r.jobs = append(r.jobs, r.job(name, schedule, command, at, commandAt))
}

// job builds the node of an entry with the variables as they are here.
func (r *crontabReader) job(name, schedule, command string, at, commandAt pos) *node {
	n := &node{kind: mapping, pos: at, entries: []entry{
		{"name", at, &node{pos: at, text: name}},
		{"command", commandAt, &node{pos: commandAt, text: command}},
		{"schedule", at, &node{pos: at, text: schedule}},
		{"dayMatch", at, &node{pos: at, text: string(scheduler.DayMatchOr)}},
	}}
	if len(r.variables) == 0 {
		return n
	}
	env := &node{kind: list, pos: r.variables[0].pos}
	for _, v := range r.variables {
		env.items = append(env.items, &node{kind: mapping, pos: v.pos, entries: []entry{
			{"key", v.pos, &node{pos: v.pos, text: v.key}}, {"value", v.value.pos, v.value},
		}})
		switch {
		case v.key == "SHELL" && v.value.text != "":
			n.entries = append(n.entries, entry{"shell", v.pos, v.value})
		case v.key == "CRON_TZ":
			n.entries = append(n.entries, entry{"timezone", v.pos, v.value})
		}
	}
	n.entries = append(n.entries, entry{"environment", env.pos, env})
	return n
}

// note tells that a line with both day fields means what it means to cron.
func (r *crontabReader) note(name, schedule string, at pos) {
	or, err := scheduler.ParseSchedule(schedule, scheduler.DayMatchOr)
	if err != nil {
		return // reported with the job
	}
	if and, err := scheduler.ParseSchedule(schedule, scheduler.DayMatchAnd); err == nil && and.Canonical() != or.Canonical() {
		r.out.add(at, Diagnostic{Severity: Note, Job: name, Key: "schedule",
			Message: "both day fields are restricted: this runs when either matches, as in cron; yacron2 1.2 wanted both",
			Hint:    "for both, write the job in a YAML or HCL file"})
	}
}

// noteZone tells, for the first entry of a file that it concerns, that cron took its times
// for those of the machine's zone: they move when a crontab comes here as it is.
func (r *crontabReader) noteZone(name, schedule string, at pos) {
	named := slices.ContainsFunc(r.variables, func(e entry) bool { return e.key == "CRON_TZ" })
	if r.zoneTold || named || !zoned(schedule) {
		return
	}
	if _, err := scheduler.ParseSchedule(schedule, scheduler.DayMatchOr); err != nil {
		return // reported with the job
	}
	z := r.localZone()
	if z.err != nil || z.name == "UTC" || z.name == "Etc/UTC" {
		return
	}
	r.zoneTold = true
	r.out.add(at, Diagnostic{Severity: Note, Job: name, Key: "schedule",
		Message: "times of a crontab are UTC here, as in yacron2 1.2; cron took those of this machine's zone, " + z.name,
		Hint:    "for these, write the line CRON_TZ=" + z.name + " above the first entry"})
}

// zoned reports whether it matters to a schedule what zone its times are in.
func zoned(schedule string) bool {
	switch schedule {
	case "@reboot", "@hourly":
		return false
	}
	fields := strings.Fields(schedule)
	return len(fields) != 5 || slices.ContainsFunc(fields[1:], func(f string) bool { return f != "*" })
}

// timeField is what stands in a time field, of whatever dialect.
var timeField = regexp.MustCompile(`(?i)^(?:[*?]|[0-9]+|sun|mon|tue|wed|thu|fri|sat)(?:[-/,#](?:[*?]|[0-9]+|sun|mon|tue|wed|thu|fri|sat))*$`)

// sixthField warns of a line with seconds or a year, as other programs have them: its
// last time field would be run.
func (r *crontabReader) sixthField(job, command string, at pos) {
	if word, _ := cutWord(command); timeField.MatchString(word) && !r.host.Executable(word) {
		r.out.add(at, Diagnostic{Severity: Warning, Job: job, Key: "command",
			Message: quote(word) + " looks like a sixth time field, but it is run as the first word of the command",
			Hint:    "a crontab has five time fields; for seconds or a year, write the job in a YAML or HCL file"})
	}
}

// continued warns of a command that seems to go on in the next line.
func (r *crontabReader) continued(job, command string, at pos) {
	body := strings.TrimRight(command, `\`)
	if (len(command)-len(body))%2 == 0 {
		return // backslashes that are meant as such
	}
	r.out.add(at.moved(utf8.RuneCountInString(command)-1), Diagnostic{Severity: Warning, Job: job, Key: "command",
		Message: "the command ends with this backslash: as in cron, the next line does not continue it",
		Hint:    "write the command on one line, or the job in a YAML or HCL file"})
}

// cutWord cuts the first word and the blanks behind it.
func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// unescapePercent turns \% into %. It returns where a bare % stands, or -1.
func unescapePercent(s string) (string, int) {
	if !strings.Contains(s, "%") {
		return s, -1
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%':
			return "", i
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), -1
}

// wellKnownUsers are accounts that system crontabs name, on this machine or not.
var wellKnownUsers = []string{"root", "nobody", "daemon", "www-data", "apache", "nginx", "postgres", "mysql", "redis"}

// userName is how accounts are called, those of packages (Debian-exim) and of
// directories (first.last) included.
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}$`)

// remember keeps the first word of a command if it may be a user.
func (r *crontabReader) remember(job, command string, at pos) {
	word, rest := cutWord(command)
	if !userName.MatchString(word) {
		return
	}
	known, asked := r.users[word]
	if !asked {
		known = slices.Contains(wellKnownUsers, word)
		if !known {
			_, err := r.host.LookupUser(word)
			known = err == nil
		}
		if known && !r.host.Executable(word) {
			r.sureOfUsers = true
		}
		r.users[word] = known
	}
	if !known || rest == "" && r.host.Executable(word) {
		return
	}
	r.firstWords = append(r.firstWords, firstWord{job, word, at})
}

// warnOfUsers warns of a user column, as the crontabs of a system have it. A word that
// is also a program (mail, sync) counts only if another line leaves no doubt.
func (r *crontabReader) warnOfUsers() {
	for _, w := range r.firstWords {
		if r.sureOfUsers {
			r.out.add(w.at, Diagnostic{Severity: Warning, Job: w.job, Key: "command",
				Message: quote(w.user) + " looks like the user column of a system crontab, but it is run as the first word of the command",
				Hint:    "remove the column; to run as another user, write the job in a YAML or HCL file with the key user"})
		}
	}
}
