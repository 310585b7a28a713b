// Package smtptest has a mail server for tests, which speaks SMTP for real.
package smtptest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server takes mails. The exported fields say how, and are set before Start.
type Server struct {
	TLS      *tls.Config       // offers STARTTLS, or encrypts from the start
	Implicit bool              // from the start
	Auth     string            // mechanisms offered, "" for none
	Users    map[string]string // password by user
	Silent   bool              // never greets
	Refuse   map[string]string // answer by first word of a command

	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	lines []string // received, with "TLS " in front once it is encrypted
	mails []Mail
}

// Mail is one mail that was taken.
type Mail struct {
	From string   // of the envelope, as To
	To   []string // in the order of the commands
	Data string   // header and body
	User string   // who logged in, "" for nobody
	TLS  bool     // the connection was encrypted
}

// awaitLimit is how long AwaitClosed waits.
const awaitLimit = 30 * time.Second

// Start listens on the loopback interface until the test has ended, and returns the
// port.
func (s *Server) Start(t testing.TB) int {
	t.Helper()
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.conns = make(map[net.Conn]bool)
	s.wg.Go(s.accept)
	t.Cleanup(func() {
		s.listener.Close()
		s.mu.Lock()
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s.listener.Addr().(*net.TCPAddr).Port
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				conn.Close()
				s.mu.Lock()
				delete(s.conns, conn)
				s.mu.Unlock()
			}()
			s.serve(conn)
		})
	}
}

// Mails returns the mails that were taken so far.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// Commands returns the lines that clients have sent, with "TLS " in front of those that
// were encrypted.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// AwaitClosed waits until no client is connected.
func (s *Server) AwaitClosed(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(awaitLimit); ; <-time.After(time.Millisecond) {
		s.mu.Lock()
		open := len(s.conns)
		s.mu.Unlock()
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are still open", open)
		}
	}
}

// session is one connection.
type session struct {
	conn net.Conn
	in   *bufio.Reader
	tls  bool
	mail Mail
}

func (x *session) say(format string, args ...any) { fmt.Fprintf(x.conn, format+"\r\n", args...) }

func (s *Server) serve(conn net.Conn) {
	x := &session{conn: conn, in: bufio.NewReader(conn)}
	if s.Silent {
		_, _ = x.in.ReadByte() // until the client goes
		return
	}
	if s.Implicit && !x.encrypt(s.TLS) {
		return
	}
	x.say("220 test ESMTP")
	for {
		line, err := x.in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		mark := ""
		if x.tls {
			mark = "TLS "
		}
		s.lines = append(s.lines, mark+line)
		s.mu.Unlock()
		if !s.command(x, line) {
			return
		}
	}
}

func (x *session) encrypt(config *tls.Config) bool {
	c := tls.Server(x.conn, config)
	if c.Handshake() != nil {
		return false
	}
	x.conn, x.in, x.tls = c, bufio.NewReader(c), true
	return true
}

func (s *Server) command(x *session, line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	verb = strings.ToUpper(verb)
	if answer := s.Refuse[verb]; answer != "" {
		x.say("%s", answer)
		return true
	}
	switch verb {
	case "EHLO":
		x.say("250-test")
		if s.TLS != nil && !x.tls {
			x.say("250-STARTTLS")
		}
		if s.Auth != "" {
			x.say("250-AUTH %s", s.Auth)
		}
		x.say("250 8BITMIME")
	case "STARTTLS":
		x.say("220 go")
		return x.encrypt(s.TLS)
	case "AUTH":
		s.login(x, rest)
	case "MAIL":
		x.mail.From, x.mail.To = angle(rest), nil
		x.say("250 ok")
	case "RCPT":
		x.mail.To = append(x.mail.To, angle(rest))
		x.say("250 ok")
	case "DATA":
		x.say("354 send")
		var data strings.Builder
		for {
			l, err := x.in.ReadString('\n')
			if err != nil {
				return false
			}
			if l == ".\r\n" {
				break
			}
			data.WriteString(strings.TrimPrefix(l, "."))
		}
		x.mail.Data, x.mail.TLS = data.String(), x.tls
		s.mu.Lock()
		s.mails = append(s.mails, x.mail)
		s.mu.Unlock()
		x.say("250 taken")
	case "QUIT":
		x.say("221 bye")
		return false
	default:
		x.say("250 ok")
	}
	return true
}

func (s *Server) login(x *session, rest string) {
	mechanism, initial, _ := strings.Cut(rest, " ")
	ask := func(prompt string) string {
		x.say("334 %s", base64.StdEncoding.EncodeToString([]byte(prompt)))
		l, _ := x.in.ReadString('\n')
		answer, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(l))
		return string(answer)
	}
	var user, password string
	switch mechanism {
	case "PLAIN":
		decoded, _ := base64.StdEncoding.DecodeString(initial)
		if parts := strings.Split(string(decoded), "\x00"); len(parts) == 3 {
			user, password = parts[1], parts[2]
		}
	case "LOGIN":
		user = ask("Username:")
		password = ask("Password:")
	}
	if want, ok := s.Users[user]; !ok || want != password {
		x.say("535 5.7.8 bad credentials for %s %s", user, password) // as careless as servers are
		return
	}
	x.mail.User = user
	x.say("235 ok")
}

func angle(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}
