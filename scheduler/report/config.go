package report

import "time"

// Hooks says where an outcome is reported. Every reporter that is set reports; one
// that is nil, or lacks what it cannot do without, does not.
type Hooks struct {
	Mail    *Mail
	Sentry  *Sentry
	Shell   *Shell
	Webhook *Webhook
}

// Mail sends one message over SMTP.
type Mail struct {
	From          string // one address
	To            string // addresses, separated by commas
	SMTPHost      string // "" is localhost
	SMTPPort      int    // 1 to 65535
	TLS           bool   // TLS from the first byte
	StartTLS      bool   // demand STARTTLS
	ValidateCerts bool
	Username      string // "" sends without login
	Password      Secret
	HTML          bool
	Subject       *string // template; nil is the default one
	Body          *string // template; nil is the default one. Blank suppresses mails of successes
}

// Sentry sends one event.
type Sentry struct {
	DSN             Secret
	Body            *string  // template; nil is the default one
	Fingerprint     []string // templates; nil is the default: product, host, job
	Level           string   // fatal, error, warning, info or debug
	Environment     string
	Extra           []Extra // on top of what is always sent, in order of their keys
	MaxStringLength int     // characters, > 0
}

// Extra is one extra value of an event.
type Extra struct {
	Key   string
	Value any // string, int64 or bool
}

// Shell runs a command. Exactly one of Line and Argv is set.
type Shell struct {
	Line  string // for Shell -c
	Argv  []string
	Shell string // "" is the platform's default shell
}

// Webhook sends one HTTP request.
type Webhook struct {
	URL         Secret
	Method      string
	ContentType string
	Headers     []Header // in order of their names; they override ContentType
	Body        *string  // template; nil is the default one
	Timeout     time.Duration
}

// Header is one HTTP header. Its value may be a secret.
type Header struct{ Name, Value string }

// Statsd sends start and end of every run to a statsd server, by UDP.
type Statsd struct {
	Prefix string // used as it is, followed by a dot
	Host   string
	Port   int // 1 to 65535
}
