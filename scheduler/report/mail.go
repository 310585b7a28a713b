package report

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// mailDelivery sends one mail.
type mailDelivery struct{ *Mail }

func (d *mailDelivery) kind() string { return "mail" }

func (d *mailDelivery) host() string {
	if d.SMTPHost == "" {
		return "localhost"
	}
	return d.SMTPHost
}

func (d *mailDelivery) lane(*Report) string { return fmt.Sprintf("%s:%d", d.host(), d.SMTPPort) }

func (d *mailDelivery) secrets() ([]string, error) {
	if !d.Password.IsSet() {
		return nil, nil
	}
	password, err := d.Password.Resolve()
	return []string{password}, err
}

func (d *mailDelivery) prepare(r *Reporter, report *Report, secrets []string) (func(context.Context) error, error) {
	w := r.write(report)
	subject, err := w.subject(d.Subject)
	if err != nil {
		return nil, err
	}
	body, err := w.body(d.Body)
	if err != nil {
		return nil, err
	}
	if report.Success && strings.TrimSpace(body) == "" {
		return nil, nil
	}
	msg, err := d.message(r, subject, body)
	if err != nil {
		return nil, err
	}
	password := ""
	if len(secrets) > 0 {
		password = secrets[0]
	}
	return func(ctx context.Context) error { return d.send(ctx, r, msg, password) }, nil
}

func (d *mailDelivery) message(r *Reporter, subject, body string) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(strings.TrimSpace(d.From)); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if err := msg.ToFromString(strings.TrimSpace(d.To)); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	msg.Subject(subject)
	msg.SetDateWithValue(time.Now().UTC())
	msg.SetMessageID()
	msg.SetUserAgent(r.userAgent())
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no holiday greetings, please
	kind := mail.TypeTextPlain
	if d.HTML {
		kind = mail.TypeTextHTML
	}
	msg.SetBodyString(kind, body)
	return msg, nil
}

func (d *mailDelivery) send(ctx context.Context, r *Reporter, msg *mail.Msg, password string) error {
	ctx, cancel := context.WithTimeout(ctx, r.limits.mail)
	defer cancel()
	// The library leaves a connection open when something goes wrong on it, and
	// does not watch the context once it is connected.
	closing := func() {}
	defer func() { closing() }()
	dial := func(dialCtx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.dial(dialCtx, network, address, r)
		if err != nil {
			return nil, err
		}
		unwatch := context.AfterFunc(ctx, func() { conn.Close() })
		closing = func() {
			unwatch()
			conn.Close()
		}
		return conn, nil
	}
	client, err := mail.NewClient(d.host(), d.options(r, dial, password)...)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return mailError(err)
	}
	if err := client.SendWithSMTPClient(session, msg); err != nil {
		return mailError(err)
	}
	_ = client.CloseWithSMTPClient(session) // taken is taken, however the server says goodbye
	return nil
}

func (d *mailDelivery) options(r *Reporter, dial mail.DialContextFunc, password string) []mail.Option {
	policy := mail.TLSOpportunistic
	switch {
	case d.TLS:
		policy = mail.NoTLS // it is there already
	case d.StartTLS:
		policy = mail.TLSMandatory
	}
	options := []mail.Option{
		mail.WithPort(d.SMTPPort),
		mail.WithTimeout(r.limits.mailStep),
		mail.WithDialContextFunc(dial),
		mail.WithTLSConfig(d.tlsConfig(r)),
		mail.WithTLSPolicy(policy),
	}
	if d.Username != "" && password != "" {
		options = append(options, mail.WithSMTPAuthCustom(&login{username: d.Username, password: password, host: d.host()}))
	}
	return options
}

func (d *mailDelivery) tlsConfig(r *Reporter) *tls.Config {
	return &tls.Config{
		ServerName:         d.host(),
		RootCAs:            r.cfg.RootCAs,
		InsecureSkipVerify: !d.ValidateCerts, //nolint:gosec // only where the configuration asks for it
		MinVersion:         tls.VersionTLS12,
	}
}

func (d *mailDelivery) dial(ctx context.Context, network, address string, r *Reporter) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: r.limits.mailStep}
	if d.TLS {
		return (&tls.Dialer{NetDialer: dialer, Config: d.tlsConfig(r)}).DialContext(ctx, network, address)
	}
	return dialer.DialContext(ctx, network, address)
}

// mailError marks what may go better later: no connection yet, or a refusal that the
// server calls temporary.
func mailError(err error) error {
	var refused *mail.SendError
	if errors.As(err, &refused) && refused.IsTemp() && refused.ErrorCode() >= 400 {
		return &temporary{err: err}
	}
	return notConnected(err)
}

var (
	errPlainLogin = errors.New("the connection is not encrypted, so the password was not sent; set tls or starttls, or leave out username")
	errNoLogin    = errors.New("the server offers no login that is supported here (SCRAM-SHA-256, SCRAM-SHA-1, CRAM-MD5, PLAIN, LOGIN)")
)

// login picks the best mechanism that the server offers, on encrypted connections
// only.
type login struct {
	username, password, host string
	smtp.Auth                // the one picked
}

func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errPlainLogin
	}
	offered := make(map[string]bool, len(server.Auth))
	for _, name := range server.Auth {
		offered[strings.ToUpper(name)] = true
	}
	switch {
	case offered["SCRAM-SHA-256"]:
		l.Auth = smtp.ScramSHA256Auth(l.username, l.password)
	case offered["SCRAM-SHA-1"]:
		l.Auth = smtp.ScramSHA1Auth(l.username, l.password)
	case offered["CRAM-MD5"]:
		l.Auth = smtp.CRAMMD5Auth(l.username, l.password)
	case offered["PLAIN"]:
		l.Auth = smtp.PlainAuth("", l.username, l.password, server.Name, false)
	case offered["LOGIN"]:
		l.Auth = smtp.LoginAuth(l.username, l.password, server.Name, false)
	default:
		return "", nil, errNoLogin
	}
	return l.Auth.Start(server)
}
