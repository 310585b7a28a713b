package report

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/getsentry/sentry-go"
)

// sentryDelivery sends one event.
type sentryDelivery struct{ *Sentry }

func (d *sentryDelivery) kind() string { return "sentry" }

func (d *sentryDelivery) lane(*Report) string { return d.DSN.key() }

func (d *sentryDelivery) secrets() ([]string, error) {
	dsn, err := d.DSN.Resolve()
	return []string{dsn}, err
}

func (d *sentryDelivery) prepare(r *Reporter, report *Report, secrets []string) (func(context.Context) error, error) {
	if _, err := sentry.NewDsn(secrets[0]); err != nil {
		return nil, errors.New("the dsn is not valid") // the error would show it
	}
	event, err := d.event(r, report)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return r.sendEvent(ctx, secrets[0], event) }, nil
}

func (d *sentryDelivery) event(r *Reporter, report *Report) (*sentry.Event, error) {
	w := r.write(report)
	var message string
	var err error
	if d.Body == nil {
		message, err = w.both()
	} else {
		message, err = w.text(d.Body, "")
	}
	if err != nil {
		return nil, err
	}
	fingerprint := d.Fingerprint
	if fingerprint == nil {
		fingerprint = defaultFingerprint[:]
	}
	event := sentry.NewEvent()
	event.EventID = newEventID()
	event.Timestamp = time.Now().UTC()
	event.Level = sentry.Level(d.Level)
	event.Message = d.cut(message)
	event.Environment = d.Environment
	event.Platform = "other"
	event.Logger = "yacron2"
	event.ServerName = report.Node
	event.Release = r.cfg.Version
	event.Sdk = sentry.SdkInfo{Name: "sentry.go", Version: sentry.SDKVersion}
	event.Tags = map[string]string{"job": report.Job, "hook": string(report.Hook)}
	for _, template := range fingerprint {
		part, err := w.text(&template, "")
		if err != nil {
			return nil, err
		}
		event.Fingerprint = append(event.Fingerprint, part)
	}
	extra := sentry.Context{
		"job": report.Job, "command": d.cut(report.Command()), "shell": report.Shell, "success": report.Success,
		"exit_code": nil,
	}
	if report.ExitCode != nil {
		extra["exit_code"] = *report.ExitCode
	}
	for _, e := range d.Extra {
		value := e.Value
		if text, ok := value.(string); ok {
			value = d.cut(text)
		}
		extra[e.Key] = value
	}
	event.Contexts = map[string]sentry.Context{"extra": extra}
	return event, nil
}

// cut shortens a text to what Sentry is to be sent.
func (d *sentryDelivery) cut(text string) string {
	limit := d.MaxStringLength
	if limit <= 0 {
		return text
	}
	short, more := first(text, limit)
	if !more {
		return text
	}
	if limit > 3 {
		short, _ = first(short, limit-3)
		short += "..."
	}
	return short
}

func newEventID() sentry.EventID {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return sentry.EventID(hex.EncodeToString(id[:]))
}

// sendEvent wraps the event into an envelope and sends that. The transport of the SDK
// says nothing about what became of it, so this looks on at the HTTP exchange.
func (r *Reporter) sendEvent(ctx context.Context, dsn string, event *sentry.Event) error {
	ctx, cancel := context.WithTimeout(ctx, r.limits.sentry)
	defer cancel()
	exchange := &onlooker{client: r.http, err: errors.New("the event cannot be encoded")}
	transport := sentry.NewHTTPSyncTransport()
	transport.Configure(sentry.ClientOptions{Dsn: dsn, HTTPClient: &http.Client{Transport: exchange}})
	transport.SendEventWithContext(ctx, event)
	return exchange.err
}

// onlooker is a transport that remembers the outcome of its one exchange.
type onlooker struct {
	client *http.Client
	err    error
}

func (o *onlooker) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := o.client.Transport.RoundTrip(req)
	if err != nil {
		o.err = notConnected(err)
		return nil, err
	}
	text := ""
	if resp.StatusCode >= 400 {
		text = readSome(resp.Body, maxAnswer)
	}
	o.err = answer(resp, text, time.Now())
	return resp, nil
}
