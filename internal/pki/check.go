package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Use is what a certificate is meant for.
type Use int

// The uses.
const (
	// NodeUse is a node of a cluster: it takes connections and makes them.
	NodeUse Use = iota
	// ServerUse is a server alone, such as an https listener.
	ServerUse
)

// usages lists the ends of a connection that a use needs.
func (u Use) usages() []x509.ExtKeyUsage {
	if u == ServerUse {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

// Check lists, in words, why a certificate would not work for a use at now by itself:
// its validity, its names, and what its issuer allows it for. Authorities are checked
// for their validity and their right to sign.
func Check(cert *x509.Certificate, use Use, now time.Time) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	switch {
	case now.After(cert.NotAfter):
		bad("it expired on %s", cert.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(cert.NotBefore):
		bad("it is not valid before %s", cert.NotBefore.UTC().Format(time.RFC3339))
	}
	if cert.IsCA {
		if cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0 {
			bad("it is an authority that may not sign certificates")
		}
		return problems
	}
	if len(cert.DNSNames)+len(cert.IPAddresses) == 0 {
		bad("it is valid for no host: clients look for names and addresses among its subject alternative names, not at the common name")
	}
	for _, usage := range use.usages() {
		if !Allows(cert, usage) {
			bad("its issuer did not allow it for the %s's end of a connection", endName(usage))
		}
	}
	return problems
}

// Allows reports whether a certificate may be used for one end of a connection.
func Allows(cert *x509.Certificate, usage x509.ExtKeyUsage) bool {
	if len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) == 0 {
		return true // not restricted
	}
	for _, u := range cert.ExtKeyUsage {
		if u == usage || u == x509.ExtKeyUsageAny {
			return true
		}
	}
	return false
}

func endName(usage x509.ExtKeyUsage) string {
	if usage == x509.ExtKeyUsageClientAuth {
		return "client"
	}
	return "server"
}

// Verify lists, in words, why those who trust authorities alone would not take a
// certificate that is shown together with the chain, each reason once. What Check finds
// is not repeated here.
func Verify(cert *x509.Certificate, chain, authorities []*x509.Certificate, use Use, now time.Time) []string {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range authorities {
		roots.AddCert(c)
	}
	for _, c := range chain {
		between.AddCert(c)
	}
	// Within its own validity, and for any usage: those are Check's.
	at := now
	if at.After(cert.NotAfter) {
		at = cert.NotAfter
	}
	if at.Before(cert.NotBefore) {
		at = cert.NotBefore
	}
	verify := func(usages ...x509.ExtKeyUsage) error {
		_, err := cert.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: usages})
		return err
	}
	err := verify(x509.ExtKeyUsageAny)
	if err == nil {
		for _, usage := range use.usages() {
			if Allows(cert, usage) && verify(usage) != nil {
				return []string{fmt.Sprintf("an authority above it does not allow the %s's end of a connection", endName(usage))}
			}
		}
		return nil
	}
	for _, c := range slices.Concat(chain, authorities) {
		if cert.CheckSignatureFrom(c) == nil && (now.After(c.NotAfter) || now.Before(c.NotBefore)) {
			return []string{fmt.Sprintf("its authority %s is not valid now", Name(c))}
		}
	}
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return []string{"none of the authorities issued it"}
	}
	return []string{"it does not verify: " + err.Error()}
}

// Name is what people call a certificate: its common name, else the first name that it
// is valid for, else its serial number.
func Name(cert *x509.Certificate) string {
	switch {
	case cert.Subject.CommonName != "":
		return cert.Subject.CommonName
	case len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	case len(cert.IPAddresses) > 0:
		return cert.IPAddresses[0].String()
	}
	return "number " + cert.SerialNumber.Text(16)
}
