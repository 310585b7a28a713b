package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yacron2/yacron2/lease"
)

// mostText is how much of a server's text is shown.
const mostText = 400

// verb is what is done to the Lease, as a Role calls it.
type verb string

const (
	get    verb = "get"
	create verb = "create"
	update verb = "update"
	watch  verb = "watch"
)

// method is how it is said in HTTP.
func (v verb) method() string {
	switch v {
	case create:
		return http.MethodPost
	case update:
		return http.MethodPut
	}
	return http.MethodGet
}

// refusal is an answer of the API server other than the Lease.
type refusal struct {
	verb            verb
	name, namespace string
	server          string
	code            int
	reason, message string
	retryAfter      time.Duration // 0 if the server named none
}

// refused reads an answer that is not the Lease.
func (c *client) refused(v verb, got reply) *refusal {
	r := &refusal{verb: v, name: c.name, namespace: c.namespace, server: c.server(), code: got.code}
	var status meta.Status
	if json.Unmarshal(got.body, &status) == nil && status.Kind == "Status" {
		r.reason, r.message = string(status.Reason), lease.OneLine(status.Message, mostText)
		if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
			r.retryAfter = time.Duration(d.RetryAfterSeconds) * time.Second
		}
	}
	if d, ok := retryAfter(got.header.Get("Retry-After"), time.Now()); ok {
		r.retryAfter = d
	}
	return r
}

// retryAfter reads the header of that name, in seconds or as a date.
func retryAfter(text string, now time.Time) (d time.Duration, ok bool) {
	if text == "" {
		return 0, false
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0), true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(24*time.Hour/time.Second) {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// Error says what was refused, and what would be right.
func (r *refusal) Error() string {
	lease := "the Lease " + r.namespace + "/" + r.name
	server := "the API server " + r.server
	said := ""
	if r.message != "" {
		said = ": " + r.message
	}
	switch r.code {
	case http.StatusUnauthorized:
		return fmt.Sprintf("%s does not accept the credentials of this node (they are wrong, expired or revoked)%s", server, said)
	case http.StatusForbidden:
		rule := fmt.Sprintf("verbs [get, update], resourceNames [%s]", r.name)
		switch r.verb {
		case create:
			rule = "verbs [create] and no resourceNames, since a create cannot be limited by name"
		case watch:
			rule = fmt.Sprintf("verbs [get, update, watch], resourceNames [%s]", r.name)
		}
		return fmt.Sprintf("%s does not allow this node to %s %s: its account needs a Role in the namespace %s with a rule for apiGroups [coordination.k8s.io], resources [leases], %s%s",
			server, r.verb, lease, r.namespace, rule, said)
	case http.StatusNotFound:
		if r.verb == create {
			return fmt.Sprintf("%s cannot create %s: the namespace may not exist%s", server, lease, said)
		}
		return fmt.Sprintf("%s does not have %s%s", server, lease, said)
	case http.StatusConflict:
		return fmt.Sprintf("%s was changed by others each time this node was about to %s it%s", lease, r.verb, said)
	case http.StatusGone:
		return fmt.Sprintf("%s has given up the version of %s that was asked for%s", server, lease, said)
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return fmt.Sprintf("%s finds %s not valid%s", server, lease, said)
	case http.StatusRequestEntityTooLarge:
		return fmt.Sprintf("%s finds %s too big%s", server, lease, said)
	case http.StatusTooManyRequests:
		return fmt.Sprintf("%s has too many requests and asks to wait %s%s", server, r.retryAfter, said)
	}
	text := fmt.Sprintf("%s answered %d %s when asked to %s %s%s", server, r.code, http.StatusText(r.code), r.verb, lease, said)
	if r.retryAfter > 0 {
		text += fmt.Sprintf(" (it asks to wait %s)", r.retryAfter)
	}
	return text
}

// code returns the HTTP status of a refusal, 0 of other errors.
func code(err error) int {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.code
	}
	return 0
}

// ambiguous reports whether the server may have done what it was asked all the same.
func ambiguous(err error) bool {
	if err == nil || errors.Is(err, errNotSent) {
		return false
	}
	c := code(err)
	return c == 0 || c >= http.StatusInternalServerError
}

// errNotSent: nothing has reached the server.
var errNotSent = errors.New("not sent")

// unsent is an error that leaves no doubt that the server has not seen the request.
type unsent struct{ error }

func (e unsent) Unwrap() []error { return []error{e.error, errNotSent} }

// broken describes a request that got no answer.
func (c *client) broken(ctx context.Context, v verb, err error, took time.Duration, stage stage) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // its text repeats the address
	}
	what := fmt.Sprintf("to %s the Lease %s/%s", v, c.namespace, c.name)
	took = took.Round(10 * time.Millisecond)
	switch {
	case ctx.Err() == nil:
		err = fmt.Errorf("the API server %s cannot be asked %s: %w", c.server(), what, err)
	case stage == atPlugin && c.credentials.plugin:
		err = fmt.Errorf("the credential plugin of the kubeconfig did not answer within %s, before the API server could be asked %s: %w", took, what, ctx.Err())
	case stage == atConnecting:
		err = fmt.Errorf("no connection to the API server %s within %s, %s: %w", c.server(), took, what, ctx.Err())
	default:
		err = fmt.Errorf("the API server %s did not answer within %s when asked %s: %w", c.server(), took, what, ctx.Err())
	}
	if stage != atServer {
		err = unsent{err}
	}
	return err
}

// untrusted reports whether the TLS handshake failed.
func untrusted(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		invalid      x509.CertificateInvalidError
		host         x509.HostnameError
		alert        tls.AlertError
		header       tls.RecordHeaderError
	)
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &invalid) ||
		errors.As(err, &host) || errors.As(err, &alert) || errors.As(err, &header)
}
