package report

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

// smtpServer speaks SMTP for real, to one client at a time on each connection.
type smtpServer struct {
	tls      *tls.Config // offers STARTTLS, or encrypts from the start
	implicit bool
	auth     string            // mechanisms offered, "" none
	users    map[string]string // password by user
	silent   bool              // never greets
	refuse   map[string]string // answer by first word of a command

	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	lines []string // received, with TLS in front once it is encrypted
	mails []received
}

type received struct {
	from string
	to   []string
	data string
	user string
	tls  bool
}

func (s *smtpServer) start(t *testing.T) int {
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

func (s *smtpServer) accept() {
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

func (s *smtpServer) received() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.mails...)
}

func (s *smtpServer) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// awaitClosed waits until no client is connected.
func (s *smtpServer) awaitClosed(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); ; <-time.After(time.Millisecond) {
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
	mail received
}

func (x *session) say(format string, args ...any) { fmt.Fprintf(x.conn, format+"\r\n", args...) }

func (s *smtpServer) serve(conn net.Conn) {
	x := &session{conn: conn, in: bufio.NewReader(conn)}
	if s.silent {
		x.in.ReadByte() // until the client goes
		return
	}
	if s.implicit && !x.encrypt(s.tls) {
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

func (s *smtpServer) command(x *session, line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	verb = strings.ToUpper(verb)
	if answer := s.refuse[verb]; answer != "" {
		x.say("%s", answer)
		return true
	}
	switch verb {
	case "EHLO":
		x.say("250-test")
		if s.tls != nil && !x.tls {
			x.say("250-STARTTLS")
		}
		if s.auth != "" {
			x.say("250-AUTH %s", s.auth)
		}
		x.say("250 8BITMIME")
	case "STARTTLS":
		x.say("220 go")
		return x.encrypt(s.tls)
	case "AUTH":
		s.login(x, rest)
	case "MAIL":
		x.mail.from, x.mail.to = angle(rest), nil
		x.say("250 ok")
	case "RCPT":
		x.mail.to = append(x.mail.to, angle(rest))
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
		x.mail.data, x.mail.tls = data.String(), x.tls
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

func (s *smtpServer) login(x *session, rest string) {
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
	if want, ok := s.users[user]; !ok || want != password {
		x.say("535 5.7.8 bad credentials for %s %s", user, password) // as careless as servers are
		return
	}
	x.mail.user = user
	x.say("235 ok")
}

func angle(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}
