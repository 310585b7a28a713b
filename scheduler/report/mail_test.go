package report

import (
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/smtptest"
)

func mailTo(port int) *Mail {
	return &Mail{From: "Cron <cron@example.com>", To: "ops@example.com, Night Shift <night@example.com>", SMTPHost: "127.0.0.1", SMTPPort: port, ValidateCerts: true}
}

// readMail parses a mail as a reader would.
func readMail(t *testing.T, data string) (header mail.Header, subject, body string) {
	t.Helper()
	msg, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	in := msg.Body
	if msg.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		in = quotedprintable.NewReader(in)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return msg.Header, subject, strings.ReplaceAll(string(raw), "\r\n", "\n")
}

func TestMailThroughAPlainRelay(t *testing.T) {
	s := &smtptest.Server{}
	port := s.Start(t)
	b := newBench(t, Config{})
	b.send(&Hooks{Mail: mailTo(port)}, failed("nächtlich"))
	b.wantNoFailure(t)
	mails := s.Mails()
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	m := mails[0]
	if m.From != "cron@example.com" || !slices.Equal(m.To, []string{"ops@example.com", "night@example.com"}) || m.TLS {
		t.Errorf("envelope %+v", m)
	}
	header, subject, body := readMail(t, m.Data)
	if subject != "Job nächtlich failed" {
		t.Errorf("subject %q", subject)
	}
	want := "The job failed: failsWhen=nonzeroReturn and retcode=3\n\nStandard output:\nout 1\nout 2\n\n\nStandard error:\nerr ü\n\n"
	if strings.TrimRight(body, "\n") != strings.TrimRight(want, "\n") {
		t.Errorf("body %q, want %q", body, want)
	}
	date, err := header.Date()
	if err != nil || time.Since(date).Abs() > time.Hour || !strings.HasSuffix(header.Get("Date"), "+0000") {
		t.Errorf("date %q, %v", header.Get("Date"), err)
	}
	if header.Get("Message-Id") == "" || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; charset=UTF-8") || header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("header %v", header)
	}
	if to, err := header.AddressList("To"); err != nil || len(to) != 2 || to[1].Name != "Night Shift" {
		t.Errorf("to %v, %v", to, err)
	}
	s.AwaitClosed(t)
}

func TestMailTemplatesAndHTML(t *testing.T) {
	s := &smtptest.Server{}
	port := s.Start(t)
	b := newBench(t, Config{})
	m := mailTo(port)
	m.HTML = true
	m.Subject = text("  {{ name }}:\n {{ exit_code }} on {{ environment.HOSTNAME }} ")
	m.Body = text("<b>{{ stderr }}</b>{{ nothing }}")
	b.send(&Hooks{Mail: m}, failed("j"))
	b.wantNoFailure(t)
	header, subject, body := readMail(t, s.Mails()[0].Data)
	if subject != "j: 3 on h1" || !strings.HasPrefix(body, "<b>err ü\n</b>") || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		t.Errorf("subject %q, body %q, header %v", subject, body, header)
	}
}

func TestBlankMailsOfSuccessesAreNotSent(t *testing.T) {
	s := &smtptest.Server{}
	port := s.Start(t)
	b := newBench(t, Config{})
	m := mailTo(port)
	m.Body = text("{% if not success %}failed{% endif %} \n")
	b.send(&Hooks{Mail: m}, succeeded("j"))
	if n := len(s.Mails()); n != 0 {
		t.Errorf("%d mails of a success", n)
	}
	b.send(&Hooks{Mail: m}, failed("j"))
	m.Body = text(" ")
	b.send(&Hooks{Mail: m}, failed("j"))
	b.wantNoFailure(t)
	if n := len(s.Mails()); n != 2 {
		t.Errorf("%d mails of two failures", n)
	}
	m.Body = nil
	quiet := succeeded("j")
	quiet.Stdout.Text, quiet.Stderr.Text = "", ""
	b.send(&Hooks{Mail: m}, quiet)
	if n := len(s.Mails()); n != 3 {
		t.Errorf("%d mails, the default body is never blank", n)
	}
}

func TestMailOverTLS(t *testing.T) {
	ca := newAuthority(t)
	for name, c := range map[string]struct {
		server *smtptest.Server
		change func(*Mail)
		trust  bool
		want   string // of the failure; "" is delivered
		login  bool
	}{
		"starttls, self-signed refused": {&smtptest.Server{}, func(m *Mail) { m.StartTLS = true }, false, "certificate", false},
		"starttls, self-signed allowed": {&smtptest.Server{}, func(m *Mail) { m.StartTLS, m.ValidateCerts = true, false }, false, "", true},
		"starttls, trusted":             {&smtptest.Server{}, func(m *Mail) { m.StartTLS = true }, true, "", true},
		"starttls, trusted, by LOGIN":   {&smtptest.Server{Auth: "LOGIN"}, func(m *Mail) { m.StartTLS = true }, true, "", true},
		"starttls, wrong name":          {&smtptest.Server{}, func(m *Mail) { m.StartTLS = true }, true, "127.0.0.1", false},
		"offered and taken":             {&smtptest.Server{}, func(m *Mail) {}, true, "", true},
		"offered, self-signed refused":  {&smtptest.Server{}, func(m *Mail) {}, false, "certificate", false},
		"implicit, self-signed refused": {&smtptest.Server{Implicit: true}, func(m *Mail) { m.TLS = true }, false, "certificate", false},
		"implicit, self-signed allowed": {&smtptest.Server{Implicit: true}, func(m *Mail) { m.TLS, m.ValidateCerts = true, false }, false, "", true},
		"implicit, trusted":             {&smtptest.Server{Implicit: true}, func(m *Mail) { m.TLS = true }, true, "", true},
		"wrong password":                {&smtptest.Server{Users: map[string]string{"u": "other"}}, func(m *Mail) { m.StartTLS = true }, true, "535", true},
		"no mechanism in common":        {&smtptest.Server{Auth: "GSSAPI"}, func(m *Mail) { m.StartTLS = true }, true, "offers no login", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.server
			s.TLS = ca.server(t)
			if s.Auth == "" {
				s.Auth = "PLAIN LOGIN"
			}
			if s.Users == nil {
				s.Users = map[string]string{"u": "hunter2-visible"}
			}
			port := s.Start(t)
			cfg := Config{}
			if c.trust {
				cfg.RootCAs = ca.pool
			}
			b := newBench(t, cfg)
			m := mailTo(port)
			m.Username, m.Password = "u", Secret{Value: "hunter2-visible"}
			c.change(m)
			if name == "starttls, wrong name" {
				s.TLS = ca.named(t, "other.example")
			}
			b.send(&Hooks{Mail: m}, failed("j"))
			if c.want != "" {
				b.wantFailure(t, "reporter=mail", "job=j", "hook=onFailure", c.want)
			} else {
				b.wantNoFailure(t)
				mails := s.Mails()
				if len(mails) != 1 || !mails[0].TLS || mails[0].User != "u" {
					t.Errorf("mails %+v", mails)
				}
			}
			sawLogin := false
			for _, line := range s.Commands() {
				if strings.Contains(line, "AUTH") {
					sawLogin = true
					if !strings.HasPrefix(line, "TLS ") {
						t.Errorf("a password in the clear: %s", line)
					}
				}
			}
			if sawLogin != c.login {
				t.Errorf("login seen %v, want %v: %q", sawLogin, c.login, s.Commands())
			}
			if strings.Contains(b.log.String(), "hunter2") {
				t.Errorf("the password is in the log: %s", b.log)
			}
		})
	}
}

func TestMailWithoutEncryption(t *testing.T) {
	for name, c := range map[string]struct {
		starttls bool
		user     string
		want     string
	}{
		"starttls not offered":     {true, "u", "STARTTLS"},
		"starttls, no login":       {true, "", "STARTTLS"},
		"a password in the clear?": {false, "u", "not encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &smtptest.Server{Auth: "PLAIN LOGIN", Users: map[string]string{"u": "p"}}
			port := s.Start(t)
			b := newBench(t, Config{})
			m := mailTo(port)
			m.SMTPHost, m.StartTLS, m.Username, m.Password = "localhost", c.starttls, c.user, Secret{Value: "p"}
			b.send(&Hooks{Mail: m}, failed("j"))
			b.wantFailure(t, c.want)
			if len(s.Mails()) != 0 {
				t.Error("delivered all the same")
			}
			for _, line := range s.Commands() {
				if strings.Contains(line, "AUTH") {
					t.Errorf("a login in the clear: %s", line)
				}
			}
			s.AwaitClosed(t)
		})
	}
}

func TestMailServersThatFail(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		s := &smtptest.Server{Silent: true}
		port := s.Start(t)
		b := newBench(t, Config{})
		b.limits.mailStep = 100 * time.Millisecond
		b.send(&Hooks{Mail: mailTo(port)}, failed("j"))
		b.wantFailure(t, "timeout")
		if strings.Contains(b.log.String(), "attempts") {
			t.Errorf("a server that hangs was tried again: %s", b.log)
		}
	})
	t.Run("refused", func(t *testing.T) {
		b := newBench(t, Config{})
		b.send(&Hooks{Mail: mailTo(closedPort)}, failed("j"))
		b.wantFailure(t, "refused", "attempts=3")
	})
	t.Run("busy", func(t *testing.T) {
		s := &smtptest.Server{Refuse: map[string]string{"RCPT": "450 4.2.1 come back later"}}
		port := s.Start(t)
		b := newBench(t, Config{})
		b.send(&Hooks{Mail: mailTo(port)}, failed("j"))
		b.wantFailure(t, "450", "attempts=3")
	})
	t.Run("unknown recipient", func(t *testing.T) {
		s := &smtptest.Server{Refuse: map[string]string{"RCPT": "550 5.1.1 nobody here"}}
		port := s.Start(t)
		b := newBench(t, Config{})
		b.send(&Hooks{Mail: mailTo(port)}, failed("j"))
		b.wantFailure(t, "550")
		if strings.Contains(b.log.String(), "attempts") {
			t.Errorf("a refusal was tried again: %s", b.log)
		}
	})
	t.Run("rude goodbye", func(t *testing.T) {
		s := &smtptest.Server{Refuse: map[string]string{"QUIT": "554 go away"}}
		port := s.Start(t)
		b := newBench(t, Config{})
		b.send(&Hooks{Mail: mailTo(port)}, failed("j"))
		b.wantNoFailure(t)
		if len(s.Mails()) != 1 {
			t.Errorf("%d mails", len(s.Mails()))
		}
	})
	t.Run("bad address", func(t *testing.T) {
		b := newBench(t, Config{})
		m := mailTo(1)
		m.To = "not an address"
		b.send(&Hooks{Mail: m}, failed("j"))
		b.wantFailure(t, "to: ")
	})
	t.Run("no password", func(t *testing.T) {
		b := newBench(t, Config{})
		m := mailTo(1)
		m.Username, m.Password = "u", Secret{FromEnvVar: "YACRON2_TEST_NO_SUCH_VARIABLE"}
		b.send(&Hooks{Mail: m}, failed("j"))
		b.wantFailure(t, "YACRON2_TEST_NO_SUCH_VARIABLE")
	})
}

func TestMailIsGivenUpWhenTheReporterStops(t *testing.T) {
	s := &smtptest.Server{Silent: true}
	port := s.Start(t)
	b := newBench(t, Config{})
	b.Report(&Hooks{Mail: mailTo(port)}, failed("j"))
	ctx, cancel := contextWithTimeout(t, 50*time.Millisecond)
	defer cancel()
	if err := b.Stop(ctx); err == nil {
		t.Error("stopped in time, though the server hangs")
	}
	b.wantFailure(t, "reporter=mail")
}
