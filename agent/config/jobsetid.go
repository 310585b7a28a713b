package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/report"
)

// jobSetScheme names the way of computing job-set ids. Nodes with another scheme
// cannot compare ids; it changes whenever the id of an unchanged job would.
const jobSetScheme = "v1"

// JobSetID is the fingerprint of a set of jobs: equal on two nodes if and only if
// their jobs behave alike. The order of jobs, the way in which a value was written
// and where it came from do not matter. Secrets and the values of environment
// variables are not part of it; their sources and names are.
func JobSetID(jobs []*scheduler.Job) string {
	sums := make([][sha256.Size]byte, len(jobs))
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for i, j := range jobs {
		text.Reset()
		// Strings, numbers and lists of them cannot fail to encode.
		_ = encoder.Encode(canonicalJob(j))
		sums[i] = sha256.Sum256(text.Bytes())
	}
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	text.Reset()
	text.WriteString(jobSetScheme)
	for i := range sums {
		text.WriteByte('\n')
		text.Write(hex.AppendEncode(text.AvailableBuffer(), sums[i][:]))
	}
	if len(sums) == 0 {
		text.WriteByte('\n')
	}
	sum := sha256.Sum256(text.Bytes())
	return jobSetScheme + ":" + hex.EncodeToString(sum[:])
}

// canonical is what a job-set id knows of a job. Its fields, their names and their
// order are the scheme: whoever changes them changes jobSetScheme.
type canonical struct {
	Name             string         `json:"name"`
	Line             *string        `json:"line,omitempty"`
	Argv             []string       `json:"argv,omitempty"`
	Shell            string         `json:"shell"`
	Enabled          bool           `json:"enabled"`
	Schedule         string         `json:"schedule"`
	Timezone         string         `json:"timezone"`
	Concurrency      string         `json:"concurrencyPolicy"`
	Cluster          string         `json:"clusterPolicy"`
	CaptureStdout    bool           `json:"captureStdout"`
	CaptureStderr    bool           `json:"captureStderr"`
	SaveLimit        int            `json:"saveLimit"`
	MaxLineLength    int            `json:"maxLineLength"`
	StreamPrefix     string         `json:"streamPrefix"`
	Environment      []string       `json:"environment"` // names, sorted
	User             string         `json:"user"`
	Group            string         `json:"group"`
	WorkingDirectory string         `json:"workingDirectory"`
	StartingDeadline *string        `json:"startingDeadline"` // null: whatever holds for all jobs
	ExecutionTimeout string         `json:"executionTimeout"`
	KillTimeout      string         `json:"killTimeout"`
	FailsWhen        [4]bool        `json:"failsWhen"`
	Retry            canonicalRetry `json:"retry"`

	OnFailure          *canonicalHooks  `json:"onFailure"`
	OnPermanentFailure *canonicalHooks  `json:"onPermanentFailure"`
	OnSuccess          *canonicalHooks  `json:"onSuccess"`
	OnMiss             *canonicalHooks  `json:"onMiss"`
	Statsd             *canonicalStatsd `json:"statsd"`
}

type canonicalRetry struct {
	Maximum      int    `json:"maximumRetries"`
	InitialDelay string `json:"initialDelay"`
	MaximumDelay string `json:"maximumDelay"`
	Multiplier   string `json:"backoffMultiplier"`
	Jitter       string `json:"jitter"`
}

func canonicalJob(j *scheduler.Job) *canonical {
	c := &canonical{
		Name:             j.Name,
		Argv:             j.Command.Argv,
		Shell:            j.Shell,
		Enabled:          j.Enabled,
		Timezone:         j.Timezone,
		Concurrency:      string(j.ConcurrencyPolicy),
		Cluster:          string(j.ClusterPolicy),
		CaptureStdout:    j.CaptureStdout,
		CaptureStderr:    j.CaptureStderr,
		SaveLimit:        j.SaveLimit,
		MaxLineLength:    j.MaxLineLength,
		StreamPrefix:     j.StreamPrefix,
		Environment:      make([]string, 0, len(j.Environment)),
		User:             identityText(j.User),
		Group:            identityText(j.Group),
		WorkingDirectory: j.WorkingDirectory,
		ExecutionTimeout: durationText(j.ExecutionTimeout),
		KillTimeout:      durationText(j.KillTimeout),
		FailsWhen:        [4]bool{j.FailsWhen.ProducesStdout, j.FailsWhen.ProducesStderr, j.FailsWhen.NonzeroReturn, j.FailsWhen.Always},
		Retry: canonicalRetry{
			Maximum:      j.Retry.Maximum,
			InitialDelay: durationText(j.Retry.InitialDelay),
			MaximumDelay: durationText(j.Retry.MaximumDelay),
			Multiplier:   number(j.Retry.Multiplier),
			Jitter:       number(j.Retry.Jitter),
		},
	}
	c.OnFailure, c.OnPermanentFailure = canonicalHook(j.OnFailure), canonicalHook(j.OnPermanentFailure)
	c.OnSuccess, c.OnMiss = canonicalHook(j.OnSuccess), canonicalHook(j.OnMiss)
	if s := j.Statsd; s != nil {
		c.Statsd = &canonicalStatsd{s.Prefix, s.Host, s.Port}
	}
	if j.Command.Argv == nil {
		c.Line = &j.Command.Line
	}
	if j.Schedule != nil {
		c.Schedule = j.Schedule.Canonical()
	}
	if j.OwnDeadline {
		s := durationText(j.StartingDeadline)
		c.StartingDeadline = &s
	}
	for _, v := range j.Environment {
		c.Environment = append(c.Environment, v.Key)
	}
	slices.Sort(c.Environment)
	return c
}

// identityText tells user 0 from a user named "0".
func identityText(id *scheduler.Identity) string {
	switch {
	case id == nil:
		return ""
	case id.IsID:
		return "#" + strconv.FormatUint(uint64(id.ID), 10)
	}
	return id.Name
}

func durationText(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// canonicalHooks is what a job-set id knows of a hook. A default template counts as
// one constant, whatever its text, and of a secret only where it comes from.
type canonicalHooks struct {
	Mail    *canonicalMail    `json:"mail"`
	Sentry  *canonicalSentry  `json:"sentry"`
	Shell   *canonicalShell   `json:"shell"`
	Webhook *canonicalWebhook `json:"webhook"`
}

type canonicalMail struct {
	From, To, Host string
	Port           int
	TLS, StartTLS  bool
	ValidateCerts  bool
	Username       string
	Password       string
	HTML           bool
	Subject, Body  *string
}

type canonicalShell struct {
	Line  string
	Argv  []string
	Shell string
}

type canonicalStatsd struct {
	Prefix, Host string
	Port         int
}

type canonicalExtra struct {
	Key   string
	Value any
}

type canonicalSentry struct {
	DSN         string
	Body        *string
	Fingerprint []string
	Level       string
	Environment string
	Extra       []canonicalExtra
	MaxLength   int
}

type canonicalWebhook struct {
	URL         string
	Method      string
	ContentType string
	Headers     []string // names
	Body        *string
	Timeout     string
}

func canonicalHook(h *report.Hooks) *canonicalHooks {
	if h == nil {
		return nil
	}
	c := &canonicalHooks{}
	if s := h.Shell; s != nil {
		c.Shell = &canonicalShell{s.Line, s.Argv, s.Shell}
	}
	if m := h.Mail; m != nil {
		c.Mail = &canonicalMail{m.From, m.To, m.SMTPHost, m.SMTPPort, m.TLS, m.StartTLS, m.ValidateCerts, m.Username,
			secretSource(m.Password), m.HTML, m.Subject, m.Body}
	}
	if s := h.Sentry; s != nil {
		c.Sentry = &canonicalSentry{secretSource(s.DSN), s.Body, s.Fingerprint, s.Level, s.Environment, nil, s.MaxStringLength}
		for _, e := range s.Extra {
			c.Sentry.Extra = append(c.Sentry.Extra, canonicalExtra(e))
		}
	}
	if w := h.Webhook; w != nil {
		c.Webhook = &canonicalWebhook{secretSource(w.URL), w.Method, w.ContentType, nil, w.Body, durationText(w.Timeout)}
		for _, header := range w.Headers {
			c.Webhook.Headers = append(c.Webhook.Headers, header.Name)
		}
	}
	return c
}

// secretSource tells where a secret comes from, not what it is.
func secretSource(s Secret) string {
	switch {
	case s.Value != "":
		return "value"
	case s.FromFile != "":
		return "file:" + s.FromFile
	case s.FromEnvVar != "":
		return "env:" + s.FromEnvVar
	}
	return ""
}
