package agent

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// ask sends one request through a guard and returns the answer.
func ask(g *guard, method, path string, header map[string]string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, nil)
	for name, value := range header {
		if name == "from" {
			r.RemoteAddr = value
			continue
		}
		r.Header.Set(name, value)
	}
	g.ServeHTTP(w, r)
	return w.Result()
}

var served = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Token", tokenOf(r))
	w.WriteHeader(http.StatusNoContent)
})

var someTokens = []token{newToken("looker", "look", scopeRead), newToken("operator", "schlüssel", scopeOperate)}

func TestGuardTokens(t *testing.T) {
	g := newGuard(someTokens, nil, []string{pathHealth}, nil, served)
	for _, tt := range []struct {
		method, path, header string
		want                 int
		name                 string
	}{
		{"GET", "/anything", "", 401, ""},
		{"GET", "/anything", "Bearer", 401, ""},
		{"GET", "/anything", "Bearer ", 401, ""},
		{"GET", "/anything", "Basic look", 401, ""},
		{"GET", "/anything", "look", 401, ""},
		{"GET", "/anything", "Bearer wrong", 401, ""},
		{"GET", "/anything", "Bearer  look", 401, ""},
		{"GET", "/anything", "Bearer look", 204, "looker"},
		{"HEAD", "/anything", "bEaReR look", 204, "looker"},
		{"POST", "/anything", "Bearer look", 403, ""},
		{"DELETE", "/anything", "Bearer look", 403, ""},
		{"GET", "/anything", "Bearer schlüssel", 204, "operator"},
		{"POST", "/anything", "Bearer schlüssel", 204, "operator"},
		{"POST", "/anything", "Bearer schl\xfcssel", 401, ""},
		{"GET", "/anything?token=look", "", 401, ""},
		{"GET", pathHealth, "", 204, ""},
		{"GET", "/%68ealth", "", 401, ""},
		{"GET", pathHealth + "/", "", 401, ""},
		{"GET", pathHealth + "/../jobs", "", 401, ""},
		{"GET", "/", "", 401, ""},
	} {
		resp := ask(g, tt.method, tt.path, map[string]string{"Authorization": tt.header})
		if resp.StatusCode != tt.want || resp.Header.Get("Token") != tt.name {
			t.Errorf("%s %s with %q: got %d for %q, want %d for %q", tt.method, tt.path, tt.header, resp.StatusCode, resp.Header.Get("Token"), tt.want, tt.name)
		}
		if resp.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s %s asks a browser for a password", tt.method, tt.path)
		}
	}
}

func TestGuardWithoutTokensIsOpen(t *testing.T) {
	if resp := ask(newGuard(nil, nil, nil, nil, served), "POST", "/", nil); resp.StatusCode != http.StatusNoContent {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// A browser that another site's page sends here is refused; everybody else may act.
func TestGuardRefusesOtherSites(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		header       map[string]string
		want         int
	}{
		{"curl", "POST", nil, 204},
		{"our own page", "POST", map[string]string{"Origin": "http://example.com", "Sec-Fetch-Site": "same-origin"}, 204},
		{"our own page, without a secure context", "POST", map[string]string{"Origin": "http://example.com"}, 204},
		{"typed by hand", "POST", map[string]string{"Sec-Fetch-Site": "none"}, 204},
		{"another site's form", "POST", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "application/x-www-form-urlencoded"}, 403},
		{"an old browser's form", "POST", map[string]string{"Origin": "https://evil.example"}, 403},
		{"another port", "POST", map[string]string{"Origin": "http://example.com:81"}, 403},
		{"a sandboxed frame", "POST", map[string]string{"Origin": "null"}, 403},
		{"a sister host", "POST", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"another site's picture", "GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 204},
		{"a strange method", "DELETE", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
	} {
		for _, tokens := range [][]token{nil, someTokens} {
			header := map[string]string{"Authorization": "Bearer schlüssel"}
			for k, v := range tt.header {
				header[k] = v
			}
			resp := ask(newGuard(tokens, nil, nil, nil, served), tt.method, "/jobs/a/start", header)
			if resp.StatusCode != tt.want {
				t.Errorf("%s, %d tokens: got %d, want %d", tt.name, len(tokens), resp.StatusCode, tt.want)
			}
		}
	}
	if resp := ask(newGuard(someTokens, nil, nil, nil, served), "POST", "/", map[string]string{"Origin": "null"}); resp.StatusCode != 401 {
		t.Errorf("a stranger learns more than that: %d", resp.StatusCode)
	}
}

func TestGuardSlowsGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(someTokens, nil, nil, newFailureLimit(hclog.NewNullLogger(), time.Now), served)
		const guesser, other = "192.0.2.1:1000", "192.0.2.2:1000"
		try := func(from, header string) int {
			return ask(g, "GET", "/jobs", map[string]string{"from": from, "Authorization": header}).StatusCode
		}
		for i := range failuresAtOnce {
			if code := try(guesser, "Bearer wrong"); code != 401 {
				t.Fatalf("guess %d: %d", i, code)
			}
		}
		resp := ask(g, "GET", "/jobs", map[string]string{"from": guesser, "Authorization": "Bearer wrong"})
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
			t.Fatalf("guess beyond the limit: %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != "429: Too Many Requests" {
			t.Errorf("body %q", body)
		}
		// No answer tells whether a guess was right.
		if code := try(guesser, "Bearer look"); code != 429 {
			t.Errorf("the right token beyond the limit: %d", code)
		}
		if code := try(guesser, ""); code != 401 {
			t.Errorf("no token at all: %d", code)
		}
		if code := try(other, "Bearer look"); code != 204 {
			t.Errorf("another client: %d", code)
		}
		<-time.After(time.Second)
		if code := try(guesser, "Bearer look"); code != 204 {
			t.Errorf("the right token a second later: %d", code)
		}
		if first, second := try(guesser, "Bearer wrong"), try(guesser, "Bearer wrong"); first != 401 || second != 429 {
			t.Errorf("one more guess, and another: %d, %d", first, second)
		}
		for range 2 * failuresAtOnce {
			if code := try("@", "Bearer wrong"); code != 401 {
				t.Fatalf("by a unix socket: %d", code)
			}
		}
	})
}

func TestFailureLimitForgets(t *testing.T) {
	now := time.Unix(0, 0)
	f := newFailureLimit(hclog.NewNullLogger(), func() time.Time { return now })
	for range failuresAtOnce {
		f.failed("first")
	}
	for i := range failingClients {
		if i == failingClients/2 && f.blocked("first") == 0 {
			t.Fatal("forgotten while there is room")
		}
		f.failed(strings.Repeat("x", i%100) + "-" + time.Duration(i).String())
	}
	if f.blocked("first") != 0 || len(f.clients) != failingClients || f.order.Len() != failingClients {
		t.Errorf("%d clients are remembered", len(f.clients))
	}
}

func TestClientOf(t *testing.T) {
	for _, tt := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.1", "192.0.2.1"}, // anybody can say so
		{"[2001:db8:1:2:3::4]:5", "", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:5", "", "192.0.2.1"},
		{"[fe80::1%eth0]:5", "", "fe80::/64"},
		{"127.0.0.1:5", "", "127.0.0.1"},
		{"127.0.0.1:5", "10.0.0.1, 198.51.100.1", "198.51.100.1"},
		{"[::1]:5", "198.51.100.1", "198.51.100.1"},
		{"127.0.0.1:5", "nonsense", "127.0.0.1"},
		{"@", "", ""},
		{"", "198.51.100.1", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := clientOf(r); got != tt.want {
			t.Errorf("%s for %q: got %q, want %q", tt.remote, tt.forwarded, got, tt.want)
		}
	}
}
