package report

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

// newHTTPClient returns the client of webhooks and Sentry. Connections are not kept:
// reports are rare, and an idle connection that the server has closed meanwhile makes
// a failure of unknown effect.
func newHTTPClient(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}
