package agent

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
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
	digest [sha256.Size]byte
	scope  scope
}

func newToken(secret string, s scope) token {
	return token{digest: sha256.Sum256([]byte(secret)), scope: s}
}

// requireToken lets a request through only with one of the tokens, in the order that
// does not tell strangers which paths exist: first the token, then the route. Without
// tokens everything is open.
func requireToken(tokens []token, next http.Handler) http.Handler {
	if len(tokens) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		granted, ok := authenticate(tokens, r.Header.Get("Authorization"))
		switch {
		case !ok:
			plainStatus(w, http.StatusUnauthorized)
		case granted == scopeRead && r.Method != http.MethodGet && r.Method != http.MethodHead:
			plainText(w, http.StatusForbidden, "this token may only read")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// authenticate compares against every token, so that the time taken tells nothing.
func authenticate(tokens []token, header string) (scope, bool) {
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return 0, false
	}
	digest := sha256.Sum256([]byte(secret))
	granted, found := scopeRead, false
	for _, t := range tokens {
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 {
			granted, found = max(granted, t.scope), true
		}
	}
	return granted, found
}
