package gossip

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/yacron2/yacron2/election"
)

// verifyChain checks the certificates that a peer presented, the leaf first, once
// more: against the pool and the clock of now. host is the name the leaf must carry;
// "" checks none.
func verifyChain(chain []*x509.Certificate, pool *x509.CertPool, host string, usage x509.ExtKeyUsage, now time.Time) error {
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: pool, Intermediates: between, CurrentTime: now,
		DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	return err
}

// trustError is a failure of trust: a certificate of the peer that does not verify, a
// certificate of ours that the peer refused, or an identity that is not the peer's.
type trustError struct{ text string }

func (e *trustError) Error() string { return e.text }

// failureOf says what an error of a dial, a hello or a session makes of the row.
func failureOf(err error) *election.Failure {
	var trust *trustError
	if errors.As(err, &trust) {
		return &election.Failure{Untrusted: true, Text: clean(trust.text)}
	}
	if text, ok := certificateText(err, time.Now()); ok {
		return &election.Failure{Untrusted: true, Text: clean(text)}
	}
	if text, ok := refusalText(err); ok {
		return &election.Failure{Untrusted: true, Text: clean(text)}
	}
	var timeout net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &election.Failure{Text: "the peer closed the connection"}
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*net.OpError)):
		return &election.Failure{Text: "timed out: no answer"}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &election.Failure{Text: clean("timed out: " + err.Error())}
	}
	return &election.Failure{Text: clean(err.Error())}
}

// certificateText says which check of a peer's certificate failed.
func certificateText(err error, now time.Time) (string, bool) {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		other     *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("its certificate is not valid for the host %s; it names %s", name.Host, names(name.Certificate)), true
	case errors.As(err, &authority):
		return "its certificate is not signed by a CA that this node trusts", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && now.Before(invalid.Cert.NotBefore):
		return "its certificate is not valid before " + invalid.Cert.NotBefore.UTC().Format(time.RFC3339), true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate expired at " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339), true
	case errors.As(err, &invalid), errors.As(err, &other):
		return "its certificate does not verify: " + err.Error(), true
	}
	return "", false
}

// names lists what a certificate is valid for.
func names(c *x509.Certificate) string {
	if c == nil {
		return "nothing"
	}
	list := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// refusalText recognises a TLS alert by which the peer refuses this node's
// certificate. In TLS 1.3 it arrives after our end of the handshake is done.
func refusalText(err error) (string, bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" || op.Err == nil {
		return "", false
	}
	alert := strings.TrimPrefix(op.Err.Error(), "tls: ")
	if !strings.Contains(alert, "certificate") && alert != "access denied" {
		return "", false
	}
	return "the peer refused this node's certificate: " + alert, true
}
