package agent

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/agent/config"
)

// asked returns a request with a Host header that came to an address of this machine.
func asked(host string, to net.Addr) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/jobs", nil)
	r.Host = host
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, to))
}

// tcpAddress is where the agent listens on this machine.
func (a *testAgent) tcpAddress() string {
	a.t.Helper()
	for _, address := range a.Addresses() {
		if strings.HasPrefix(address, "127.0.0.1:") {
			return address
		}
	}
	a.t.Fatal("the agent does not listen on 127.0.0.1")
	return ""
}

func TestHostNames(t *testing.T) {
	loopback, network := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	h := newHostNames(&config.Web{
		Listen: []config.Listener{{Scheme: "http", Address: "jobs.example.com:8080"}, {Scheme: "unix", Address: "/run/s"}, {Scheme: "http", Address: "[::]:80"}},
		Hosts:  []string{"Cron.example.org", "*.apps.example.net"},
	}, "node-a.example.edu")
	for host, want := range map[string]struct{ loopback, network bool }{
		"":                              {true, true}, // HTTP/1.0
		"localhost":                     {true, true},
		"LOCALHOST:8080":                {true, true},
		"localhost.:8080":               {true, true},
		"a.localhost":                   {true, true},
		"127.0.0.1:8080":                {true, true},
		"10.1.2.3":                      {true, true},
		"[::1]:8080":                    {true, true},
		"[fe80::1%25eth0]":              {true, true},
		"[::1]":                         {true, true},
		"jobs.example.com":              {true, true},
		"jobs.example.com:8443":         {true, true},
		"cron.example.org":              {true, true},
		"CRON.EXAMPLE.ORG.":             {true, true},
		"x.apps.example.net":            {true, true},
		"x.y.apps.example.net":          {true, true},
		"node-a.example.edu":            {true, true},
		machine:                         {true, true},
		"yacron-a:8080":                 {false, true},
		"yacron-a.local":                {false, true},
		"yacron.jobs.svc.cluster.local": {false, true},
		"yacron-a.lan.internal":         {false, true},
		"nas.home.arpa":                 {false, true},
		"apps.example.net":              {false, false},
		"xapps.example.net":             {false, false},
		"evil.example":                  {false, false},
		"evil.example:8080":             {false, false},
		"localhost.evil.example":        {false, false},
		"127.0.0.1.evil.example":        {false, false},
		"jobs.example.com.evil.example": {false, false},
		"evillocal":                     {false, true},
		"evil.arpa":                     {false, false},
		"evil.example:80:80":            {false, false},
		"*.apps.example.net":            {true, true}, // names nobody
	} {
		if got := h.admits(asked(host, loopback)); got != want.loopback {
			t.Errorf("%q on loopback: %v", host, got)
		}
		if got := h.admits(asked(host, network)); got != want.network {
			t.Errorf("%q from the network: %v", host, got)
		}
	}
	evil := asked("evil.example", &net.UnixAddr{Name: "/run/s", Net: "unix"})
	if !h.admits(evil) {
		t.Error("a client of a socket is refused")
	}
	evil = asked("evil.example", loopback)
	evil.TLS = &tls.ConnectionState{}
	if !h.admits(evil) {
		t.Error("a client that took the certificate for that name is refused")
	}
	if all := newHostNames(&config.Web{Hosts: []string{"*"}}, "a"); !all.admits(asked("evil.example", loopback)) {
		t.Error("* does not stand for every name")
	}
	if none := newHostNames(nil, "a"); none.admits(asked("evil.example", loopback)) || !none.admits(asked("A", loopback)) {
		t.Error("without a configuration")
	}
}

// Over the wire: an agent without tokens refuses strangers' names but for what is public,
// one with tokens goes by these alone.
func TestHostsOverTheWire(t *testing.T) {
	for _, tt := range []struct {
		web, host, path string
		status          int
	}{
		{"", "evil.example", "/jobs", 421},
		{"", "evil.example", "/nowhere", 421},
		{"", "evil.example", "/health", 200},
		{"", "evil.example", "/metrics", 421},
		{"  metrics: {public: true}\n", "evil.example", "/metrics", 200},
		{"", "127.0.0.1", "/jobs", 200},
		{"", "localhost", "/jobs", 200},
		{"", "node-a", "/jobs", 200},
		{"  hosts: [evil.example]\n", "evil.example", "/jobs", 200},
		{"  hosts: ['*.example']\n", "evil.example", "/jobs", 200},
		{"  authToken: {value: secret}\n", "evil.example", "/jobs", 401},
	} {
		a := startAgent(t, oneJob, "    - http://127.0.0.1:0\n"+tt.web)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.tcpAddress()+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		transport := &http.Transport{}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tt.status {
			t.Errorf("%q: %s by the name %s: %d, want %d", tt.web, tt.path, tt.host, resp.StatusCode, tt.status)
		}
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
	}
}

// FuzzHost looks for a name of a stranger's that opens an agent without tokens.
func FuzzHost(f *testing.F) {
	for _, host := range []string{"evil.example", "[::1", "a:b:c", "localhost.evil.example:80", "x%", "*.apps.example.net"} {
		f.Add(host)
	}
	h := newHostNames(&config.Web{Hosts: []string{"*.apps.example.net"}}, "a")
	loopback := &net.TCPAddr{IP: net.IPv6loopback, Port: 80}
	f.Fuzz(func(t *testing.T, host string) {
		// What a browser sends ends with the name that was looked up, and a port.
		host = strings.NewReplacer(":", "", "[", "", "]", "").Replace(host) + ".evil.example"
		if h.admits(asked(host, loopback)) || h.admits(asked(host+":80", loopback)) {
			t.Errorf("%q is admitted", host)
		}
	})
}
