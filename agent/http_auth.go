package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A scope says what a token may do.
type scope int

const (
	scopeRead    scope = iota // GET and HEAD
	scopeOperate              // everything
)

// token is one accepted bearer token. Only its digest is kept, so that comparing takes
// the same time whatever the length of a wrong one.
type token struct {
	name   string
	digest [sha256.Size]byte
	scope  scope
}

func newToken(name, secret string, s scope) token {
	return token{name: name, digest: sha256.Sum256([]byte(secret)), scope: s}
}

// guard lets a request through to next only with one of the tokens, in the order that
// does not tell strangers which paths exist: first the token, then the route. Without
// tokens everything is open to whoever knows the agent by a name of its own.
type guard struct {
	tokens   []token
	open     map[string]bool // paths that need no token, exactly as sent
	hosts    *hostNames      // without tokens
	failures *failureLimit   // nil: none
	foreign  *http.CrossOriginProtection
	next     http.Handler

	// life ends when other tokens are in effect: who opened a stream with one that is
	// no longer accepted must not keep it.
	life context.Context
	end  context.CancelFunc
}

// newGuard returns a guard of next.
func newGuard(tokens []token, hosts *hostNames, open []string, failures *failureLimit, next http.Handler) *guard {
	g := &guard{tokens: tokens, hosts: hosts, open: make(map[string]bool, len(open)), failures: failures, foreign: http.NewCrossOriginProtection(), next: next}
	g.life, g.end = context.WithCancel(context.Background())
	for _, path := range open {
		g.open[path] = true
	}
	return g
}

// inherit takes over the streams of an old guard (nil: none) if the tokens are the same.
// It returns what ends them if not, once g has taken its place.
func (g *guard) inherit(old *guard) (end func()) {
	switch {
	case old == nil:
		return func() {}
	case slices.Equal(old.tokens, g.tokens):
		g.end()
		g.life, g.end = old.life, old.end
		return func() {}
	}
	return old.end
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case g.open[r.URL.EscapedPath()]:
	case len(g.tokens) > 0:
		t := g.admit(w, r)
		if t == nil {
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), tokenContext{}, t))
	case !g.hosts.admits(r):
		refuseHost(w, r)
		return
	}
	// A page of another site can make a browser send requests that change something,
	// to a machine that only this browser reaches. Browsers say so; other clients say
	// nothing and go on.
	if err := g.foreign.Check(r); err != nil {
		plainText(w, r, http.StatusForbidden, "this request comes from a page of another site")
		return
	}
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), guardContext{}, g.life)))
}

// guardContext is the key under which the context of a request holds the life of its
// guard.
type guardContext struct{}

// admit returns the token of a request, or nil after an answer without one.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) *token {
	secret, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		plainStatus(w, r, http.StatusUnauthorized) // nothing was guessed
		return nil
	}
	client := clientOf(r)
	if g.failures != nil {
		if wait := g.failures.blocked(client); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
			plainStatus(w, r, http.StatusTooManyRequests)
			return nil
		}
	}
	t := g.find(secret)
	switch {
	case t == nil:
		if g.failures != nil {
			g.failures.failed(client)
		}
		plainStatus(w, r, http.StatusUnauthorized)
		return nil
	case t.scope == scopeRead && r.Method != http.MethodGet && r.Method != http.MethodHead:
		plainText(w, r, http.StatusForbidden, mayOnlyRead)
		return nil
	}
	return t
}

// bearer returns what an Authorization header presents as a token.
func bearer(header string) (string, bool) {
	scheme, secret, _ := strings.Cut(header, " ")
	return secret, strings.EqualFold(scheme, "Bearer")
}

// find compares with every token, so that the time taken tells nothing.
func (g *guard) find(secret string) *token {
	digest := sha256.Sum256([]byte(secret))
	var found *token
	for i := range g.tokens {
		t := &g.tokens[i]
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 && (found == nil || t.scope > found.scope) {
			found = t
		}
	}
	return found
}

// tokenContext is the key under which the context of a request holds its token.
type tokenContext struct{}

// tokenOf returns the name of a request's token, "" without one.
func tokenOf(r *http.Request) string {
	if t, ok := r.Context().Value(tokenContext{}).(*token); ok {
		return t.name
	}
	return ""
}

// scopeOf returns what a request may do: everything where no token is needed.
func scopeOf(r *http.Request) scope {
	if t, ok := r.Context().Value(tokenContext{}).(*token); ok {
		return t.scope
	}
	return scopeOperate
}

// mayOnlyRead is the reason for which a token of scope read is refused.
const mayOnlyRead = "this token may only read"
