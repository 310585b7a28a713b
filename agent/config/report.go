package config

import (
	"cmp"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/scheduler/report"
)

// hooks reads where an outcome of the job is reported, nil for nowhere. key is the
// hook's own key.
func (b *jobBuilder) hooks(key string, n *node) *report.Hooks {
	r := n.get("report")
	if r == nil || r.kind != mapping {
		return nil
	}
	key += ".report."
	h := report.Hooks{
		Mail:    b.mail(key+"mail", r.get("mail")),
		Sentry:  b.sentry(key+"sentry", r.get("sentry")),
		Shell:   b.shellReport(key+"shell", r.get("shell")),
		Webhook: b.webhook(key+"webhook", r.get("webhook")),
	}
	if h == (report.Hooks{}) {
		return nil
	}
	return &h
}

// template reads a template and has it compiled, if somebody can.
func (b *jobBuilder) template(key string, n *node) *string {
	if n == nil || n.kind != scalar {
		return nil
	}
	if check := b.sources.CheckTemplate; check != nil {
		err, known := b.templates[n.text]
		if !known {
			err = check(n.text)
			b.templates[n.text] = err
		}
		if err != nil {
			b.fail(n, key, spell(n, lastKey(key))+" is not a valid template: "+err.Error(), "")
		}
	}
	return &n.text
}

// secret reads a secret block and looks after its file.
func (b *jobBuilder) secret(key string, n *node) Secret {
	s := secretOf(n)
	if n != nil && n.kind == mapping && s.IsSet() {
		b.secretFile(n, key, b.job.Name, s)
	}
	return s
}

func (b *jobBuilder) mail(key string, n *node) *report.Mail {
	if n == nil || n.kind != mapping {
		return nil
	}
	m := &report.Mail{
		From: textOr(n.get("from"), ""), To: strings.TrimSpace(textOr(n.get("to"), "")), SMTPHost: textOr(n.get("smtpHost"), ""), SMTPPort: 25,
		ValidateCerts: true, Username: textOr(n.get("username"), ""), Password: b.secret(key+".password", n.get("password")),
		Subject: b.template(key+".subject", n.get("subject")), Body: b.template(key+".body", n.get("body")),
	}
	boolOf(n.get("tls"), &m.TLS)
	boolOf(n.get("starttls"), &m.StartTLS)
	boolOf(n.get("validate_certs"), &m.ValidateCerts)
	boolOf(n.get("html"), &m.HTML)
	b.port(key+".smtpPort", n.get("smtpPort"), &m.SMTPPort)
	if m.TLS && m.StartTLS {
		b.warn(n, key, "mail has both tls and starttls: a connection that is encrypted from the start cannot be upgraded", "keep one of the two")
	}
	if (m.Username != "") != m.Password.IsSet() {
		b.warn(n, key, "mail has a username or a password but not both: no login is made", "give both or neither")
	}
	if m.From == "" || m.To == "" {
		return nil
	}
	b.address(key+".from", n.get("from"), m.From)
	for to := range strings.SplitSeq(m.To, ",") {
		b.address(key+".to", n.get("to"), to)
	}
	return m
}

// address warns of what no mail can be sent from or to: yacron2 1.2 left it to the
// server to make root an address.
func (b *jobBuilder) address(key string, n *node, text string) {
	text = strings.TrimSpace(text)
	if _, err := mail.ParseAddress(text); err != nil && text != "" {
		b.warn(n, key, quote(text)+" is not a mail address: no mail is sent", "write it with its domain: name@example.com")
	}
}

func (b *jobBuilder) port(key string, n *node, to *int) {
	if v, ok := intOf(n); ok {
		if v < 1 || v > 65535 {
			b.fail(n, key, spell(n, lastKey(key))+" must be 1 to 65535, not "+quote(n.text), "")
		}
		*to = v
	}
}

// sentryLevels are the levels that Sentry has.
var sentryLevels = []string{"fatal", "error", "warning", "info", "debug"}

func (b *jobBuilder) sentry(key string, n *node) *report.Sentry {
	if n == nil || n.kind != mapping {
		return nil
	}
	s := &report.Sentry{
		DSN: b.secret(key+".dsn", n.get("dsn")), Body: b.template(key+".body", n.get("body")),
		Level: textOr(n.get("level"), "error"), Environment: textOr(n.get("environment"), ""), MaxStringLength: 8192,
	}
	if !slices.Contains(sentryLevels, s.Level) {
		b.warn(n.get("level"), key+".level", "Sentry has no level "+quote(s.Level), "the levels are "+orList(sentryLevels))
	}
	if v, ok := intOf(n.get("maxStringLength")); ok {
		b.atLeast(n.get("maxStringLength"), "maxStringLength", v, 1)
		s.MaxStringLength = v
	}
	if f := n.get("fingerprint"); f != nil && f.kind == list {
		s.Fingerprint = []string{}
		for _, item := range f.items {
			if t := b.template(key+".fingerprint", item); t != nil {
				s.Fingerprint = append(s.Fingerprint, *t)
			}
		}
	}
	if e := n.get("extra"); e != nil && e.kind == mapping {
		for i := range e.entries {
			s.Extra = append(s.Extra, report.Extra{Key: e.entries[i].key, Value: extraValue(e.entries[i].value.text)})
		}
		slices.SortFunc(s.Extra, func(a, b report.Extra) int { return cmp.Compare(a.Key, b.Key) })
	}
	if v := s.DSN.Value; v != "" {
		if u, err := url.Parse(v); err != nil || u.Scheme == "" || u.Host == "" {
			b.fail(n.get("dsn"), key+".dsn", "dsn is not the address of a Sentry project", "it looks like https://key@host/number")
		}
	}
	if !s.DSN.IsSet() {
		return nil
	}
	return s
}

// extraValue types an extra value by its look: only what loses nothing by it becomes a
// number or a truth value.
func extraValue(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(v, 10) == text {
		return v
	}
	return text
}

func (b *jobBuilder) shellReport(key string, n *node) *report.Shell {
	if n == nil || n.kind != mapping {
		return nil
	}
	s := &report.Shell{Shell: defaultShell()}
	textOf(n.get("shell"), &s.Shell)
	c := n.get("command")
	if c == nil {
		return nil
	}
	b.noNUL(c, key+".command")
	if c.kind == scalar {
		s.Line = c.text
	} else if c.kind == list {
		for _, item := range c.items {
			s.Argv = append(s.Argv, item.text)
			b.noNUL(item, key+".command")
		}
	}
	if s.Line == "" && len(s.Argv) == 0 {
		return nil
	}
	return s
}

func (b *jobBuilder) webhook(key string, n *node) *report.Webhook {
	if n == nil || n.kind != mapping {
		return nil
	}
	const timeout = 10 * time.Second
	w := &report.Webhook{
		URL: b.secret(key+".url", n.get("url")), Method: textOr(n.get("method"), "POST"), ContentType: textOr(n.get("contentType"), "application/json"),
		Body: b.template(key+".body", n.get("body")), Timeout: timeout,
	}
	if !validHeader(w.Method, w.ContentType) {
		b.fail(n, key, "method or "+spell(n, "contentType")+" holds characters that HTTP does not allow", "")
	}
	if h := n.get("headers"); h != nil && h.kind == mapping {
		for i := range h.entries {
			e := &h.entries[i]
			if !validHeader(e.key, e.value.text) {
				b.failHidden(e.pos, key+".headers", "the header "+quote(e.key)+" cannot be sent: its name or value holds characters that HTTP does not allow")
			}
			w.Headers = append(w.Headers, report.Header{Name: e.key, Value: e.value.text})
		}
		slices.SortFunc(w.Headers, func(a, b report.Header) int { return cmp.Compare(a.Name, b.Name) })
	}
	if t := n.get("timeout"); t != nil && t.kind == scalar {
		if v, ok := parseFloat(t.text); ok {
			if v > 0 && !math.IsInf(v, 0) {
				w.Timeout = seconds(v)
			} else {
				b.warn(t, key+".timeout", "a timeout of "+quote(t.text)+" would never end: 10 seconds are used", "give a number above 0")
			}
		}
	}
	if v := w.URL.Value; v != "" {
		if u, err := url.Parse(v); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			b.fail(n.get("url"), key+".url", "url must begin with http:// or https:// and have a host", "")
		}
	}
	if !w.URL.IsSet() {
		return nil
	}
	return w
}

func (b *jobBuilder) statsd(n *node) *report.Statsd {
	if n == nil || n.kind != mapping {
		return nil
	}
	s := &report.Statsd{Prefix: textOr(n.get("prefix"), ""), Host: textOr(n.get("host"), "")}
	b.port("statsd.port", n.get("port"), &s.Port)
	if h := n.get("host"); h != nil && s.Host == "" {
		b.fail(h, "statsd.host", "host is blank", "")
	}
	return s
}
