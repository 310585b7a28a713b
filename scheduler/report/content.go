package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxText bounds the output that a template sees of each stream, in bytes. Nobody
// reads more, and few servers take it.
const maxText = 1 << 20

// The default templates.
const (
	defaultSubject = `Job {{ name }} {% if success %}completed{% elif missed %}did not run{% else %}failed{% endif %}`

	defaultBody = `{% if missed %}The firing of {{ firing }} did not run: {{ fail_reason }}
{% elif not success %}The job failed: {{ fail_reason }}
{% endif %}` + defaultOutput

	defaultOutput = `{% if missed %}{% elif stdout and stderr %}
Standard output:
{{ stdout }}

Standard error:
{{ stderr }}
{% elif stdout %}{{ stdout }}
{% elif stderr %}{{ stderr }}
{% else %}(no output was captured)
{% endif %}`

	// A webhook gets what most chat services take.
	defaultWebhookBody = `{"text": {{ default_text|tojson }}}`
)

// defaultFingerprint groups the events of one job on one host.
var defaultFingerprint = [...]string{"yacron2", "{{ environment.HOSTNAME }}", "{{ name }}"}

// variables returns what templates see of the report.
func (r *Report) variables() map[string]any {
	v := map[string]any{
		"name":        r.Job,
		"command":     r.Line,
		"shell":       r.Shell,
		"schedule":    r.Schedule,
		"hook":        string(r.Hook),
		"success":     r.Success,
		"missed":      r.Hook == OnMiss,
		"fail_reason": orNil(r.FailReason, r.FailReason != ""),
		"exit_code":   nil,
		"stdout":      r.Stdout.variable(),
		"stderr":      r.Stderr.variable(),
		"environment": nil,
		"run_id":      r.RunID,
		"node":        r.Node,
		"trigger":     r.Trigger,
		"attempt":     r.Attempt,
		"firing":      instant(r.Firing),
		"started_at":  instant(r.StartedAt),
		"finished_at": instant(r.FinishedAt),
		"duration":    nil,
	}
	if r.Argv != nil {
		v["command"] = r.Argv
	}
	if r.ExitCode != nil {
		v["exit_code"] = *r.ExitCode
	}
	if r.Environ != nil {
		v["environment"] = environ(r.Environ)
	}
	if !r.StartedAt.IsZero() {
		v["duration"] = r.FinishedAt.Sub(r.StartedAt).Seconds()
	}
	return v
}

func orNil(value any, present bool) any {
	if !present {
		return nil
	}
	return value
}

func instant(t time.Time) any {
	return orNil(t.UTC().Format(time.RFC3339), !t.IsZero())
}

func environ(entries []string) variables {
	v := make(variables, len(entries))
	for _, entry := range entries {
		if name, value, ok := strings.Cut(entry, "="); ok {
			v[name] = value
		}
	}
	return v
}

func (o Output) variable() any { return orNil(o.plain(), o.Captured) }

// plain returns the text without control sequences, and without its middle if it is
// too long.
func (o Output) plain() string {
	text := stripANSI(o.Text)
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2], text[len(text)-maxText/2:]
	for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, len(text)-len(head)-len(tail), tail)
}

// first returns the first n characters of text, and whether there were more.
func first(text string, n int) (string, bool) {
	for i := range text {
		if n == 0 {
			return text[:i], true
		}
		n--
	}
	return text, false
}

// writing renders the templates of one report.
type writing struct {
	templates *templates
	variables map[string]any
}

// text renders a template, or the default one in its place.
func (w writing) text(template *string, standard string) (string, error) {
	source := standard
	if template != nil {
		source = *template
	}
	compiled, err := w.templates.get(source)
	if err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	text, err := compiled.Render(w.variables)
	if err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return text, nil
}

// subject and body are the texts of mails, and of everything else by default.
func (w writing) subject(template *string) (string, error) {
	text, err := w.text(template, defaultSubject)
	return strings.Join(strings.Fields(text), " "), err // one line
}

func (w writing) body(template *string) (string, error) { return w.text(template, defaultBody) }

// both is the default subject and the default body.
func (w writing) both() (string, error) {
	subject, err := w.subject(nil)
	if err != nil {
		return "", err
	}
	body, err := w.body(nil)
	return subject + "\n" + body, err
}
