package command

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/pki"
)

// maxInspected bounds what is read of one file.
const maxInspected = 4 << 20

// tlsInspectCommand looks into certificate and key files.
type tlsInspectCommand struct {
	Meta
	use   string
	hosts []string
	days  int
}

// The values of -for.
const (
	useNode  = "node"
	useHTTPS = "https"
)

func (c *tlsInspectCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.IntVar(&c.days, "days", 0, "Also take it for a problem if one ends within so many `DAYS`, 0 by default.")
	fs.StringVar(&c.use, "for", useNode, "`USE` of the certificates that are no authorities: node of a cluster, or https listener of the API. Node by default.")
	fs.Func("host", "`HOST` or address that they must be valid for, as it stands in the peers of other nodes. May be repeated.", into(&c.hosts))
	c.formatFlag(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *tlsInspectCommand) Synopsis() string {
	return "Show certificates, and what is wrong with them"
}

// Help implements cli.Command.
func (c *tlsInspectCommand) Help() string {
	return help("tls inspect [options] FILE...", `
Shows the certificates and private keys of PEM files: whose they are, for which
hosts, how long, and what they can be used for. Name all files of a node together to
learn whether they fit: its authority, its certificate and its key.

Says what would keep a certificate from working for a node of a cluster, which needs
a name, and both ends of a connection; for an https listener with -for=https.

Exit codes: 0 nothing is wrong, 1 something is, or a file cannot be read, 2 misuse.`, c.flags())
}

// inspected is one certificate or private key, and what is wrong with it.
type inspected struct {
	File string `json:"file"`
	Kind string `json:"kind"` // certificate, authority, key, or none for a file that cannot be read
	Key  string `json:"key,omitempty"`

	// The rest is absent for keys.
	Name        string         `json:"name,omitempty"`
	Issuer      string         `json:"issuer,omitempty"`
	Hosts       []string       `json:"hosts,omitempty"`
	NotBefore   api.Instant    `json:"not_before,omitzero"`
	NotAfter    api.Instant    `json:"not_after,omitzero"`
	EndsIn      *float64       `json:"ends_in,omitempty"` // seconds; negative once it has ended
	Usable      []string       `json:"usable,omitempty"`  // server, client, sign
	Fingerprint string         `json:"sha256,omitempty"`
	Serial      api.NullString `json:"serial,omitempty"`

	Problems []string `json:"problems"`
}

// The kinds of what is found in files.
const (
	kindCertificate = "certificate"
	kindAuthority   = "authority"
	kindKey         = "key"
	kindNone        = "none"
)

// Run implements cli.Command.
func (c *tlsInspectCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, len(args)) {
		return exitMisuse
	}
	switch {
	case len(c.args) == 0:
		c.misuse("name the files")
		return exitMisuse
	case c.use != useNode && c.use != useHTTPS:
		c.misuse("-for=%s: write node or https", plain(c.use))
		return exitMisuse
	case c.days < 0:
		c.misuse("-days=%d: write 0 or more", c.days)
		return exitMisuse
	}
	found := c.inspect(c.args)
	code := exitOK
	for _, item := range found {
		if len(item.Problems) > 0 {
			code = exitFailed
		}
	}
	if c.format == formatJSON {
		return max(code, c.json(found))
	}
	for i, item := range found {
		if item.Kind != kindNone {
			if i > 0 {
				c.printf("\n")
			}
			c.show(&item)
		}
	}
	for _, item := range found {
		for _, problem := range item.Problems {
			c.errorf("%s: %s", plain(item.File), plain(problem))
		}
	}
	return code
}

// inspect reads the files and checks what they hold, alone and together.
func (c *tlsInspectCommand) inspect(files []string) []inspected {
	found := []inspected{}
	bundles := make([]*pki.Bundle, len(files))
	all := &pki.Bundle{} // of all files
	var authorities []*x509.Certificate
	for i, file := range files {
		b, err := readBundle(file)
		if err != nil {
			found = append(found, inspected{File: file, Kind: kindNone, Problems: []string{err.Error()}})
			continue
		}
		bundles[i] = b
		all.Certificates = append(all.Certificates, b.Certificates...)
		all.Keys = append(all.Keys, b.Keys...)
		for _, cert := range b.Certificates {
			// Authorities behind a leaf are its chain: nobody trusts them for that.
			if cert.IsCA && (b.Leaf() == nil || cert.CheckSignatureFrom(cert) == nil) {
				authorities = append(authorities, cert)
			}
		}
	}
	for i, b := range bundles {
		if b == nil {
			continue
		}
		for _, cert := range b.Certificates {
			item := c.describe(cert)
			item.File = files[i]
			if cert == b.Leaf() && len(authorities) > 0 {
				item.Problems = append(item.Problems, pki.Verify(cert, b.Certificates[1:], authorities, c.pkiUse(), c.Now())...)
			}
			if cert == b.Leaf() && len(all.Keys) > 0 && !hasKey(all.Keys, cert) {
				item.Problems = append(item.Problems, "none of the private keys belongs to it")
			}
			found = append(found, item)
		}
		for _, key := range b.Keys {
			item := inspected{File: files[i], Kind: kindKey, Key: keyText(key.Public()), Problems: keyProblems(files[i])}
			if len(all.Certificates) > 0 && !hasCertificate(all.Certificates, key) {
				item.Problems = append(item.Problems, "none of the certificates belongs to this private key")
			}
			found = append(found, item)
		}
	}
	return found
}

func (c *tlsInspectCommand) pkiUse() pki.Use {
	if c.use == useHTTPS {
		return pki.ServerUse
	}
	return pki.NodeUse
}

// describe tells of a certificate what it says of itself.
func (c *tlsInspectCommand) describe(cert *x509.Certificate) inspected {
	now := c.Now()
	sum := sha256.Sum256(cert.Raw)
	item := inspected{
		Kind: kindCertificate, Key: keyText(cert.PublicKey), Name: pki.Name(cert), Issuer: cert.Issuer.CommonName,
		NotBefore: api.At(cert.NotBefore), NotAfter: api.At(cert.NotAfter), EndsIn: new(cert.NotAfter.Sub(now).Seconds()),
		Fingerprint: hex.EncodeToString(sum[:]), Serial: api.NullString(cert.SerialNumber.Text(16)),
		Problems: append([]string{}, pki.Check(cert, c.pkiUse(), now)...),
	}
	if item.Issuer == "" {
		item.Issuer = cert.Issuer.String()
	}
	item.Hosts = append(item.Hosts, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		item.Hosts = append(item.Hosts, ip.String())
	}
	if end := time.Duration(c.days) * 24 * time.Hour; now.Before(cert.NotAfter) && cert.NotAfter.Before(now.Add(end)) {
		item.Problems = append(item.Problems, "it ends in "+leftText(cert.NotAfter.Sub(now)))
	}
	if cert.IsCA {
		item.Kind = kindAuthority
		if cert.KeyUsage == 0 || cert.KeyUsage&x509.KeyUsageCertSign != 0 {
			item.Usable = append(item.Usable, "sign")
		}
		return item
	}
	if pki.Allows(cert, x509.ExtKeyUsageServerAuth) {
		item.Usable = append(item.Usable, "server")
	}
	if pki.Allows(cert, x509.ExtKeyUsageClientAuth) {
		item.Usable = append(item.Usable, "client")
	}
	for _, host := range c.hosts {
		if cert.VerifyHostname(host) != nil {
			item.Problems = append(item.Problems, "it is not valid for the host "+host)
		}
	}
	return item
}

// show prints what is known of one certificate or key.
func (c *tlsInspectCommand) show(item *inspected) {
	c.printf("%s\n", plain(item.File))
	if item.Kind == kindKey {
		pairs(c.Stdout, [][2]string{{"  Private key", item.Key}})
		return
	}
	kind, hosts := "  Certificate", "none"
	if item.Kind == kindAuthority {
		kind = "  Authority"
	}
	if len(item.Hosts) > 0 {
		hosts = strings.Join(item.Hosts, ", ")
	}
	end := "ended"
	if *item.EndsIn > 0 {
		end = "ends in " + leftText(item.NotAfter.Sub(c.Now()))
	}
	rows := [][2]string{{kind, item.Name}, {"  Issued by", item.Issuer}}
	if item.Kind == kindCertificate {
		rows = append(rows, [2]string{"  Hosts", hosts})
	}
	pairs(c.Stdout, append(rows, [][2]string{
		{"  Valid", instantText(item.NotBefore) + " to " + instantText(item.NotAfter) + ", " + end},
		{"  Good for", usableText(item.Usable)},
		{"  Key", item.Key},
		{"  SHA-256", item.Fingerprint},
	}...))
}

// usableText says what a certificate can be used for.
func usableText(usable []string) string {
	switch strings.Join(usable, " ") {
	case "sign":
		return "signing certificates"
	case "server client":
		return "a node of a cluster, an https listener"
	case "server":
		return "an https listener"
	case "client":
		return "clients only"
	}
	return "neither a node nor an https listener"
}

// leftText writes how long a certificate is still valid, in days if that is enough.
func leftText(d time.Duration) string {
	if days := int(d / (24 * time.Hour)); days > 1 {
		return count(days, "day")
	}
	return d.Round(time.Minute).String()
}

func readBundle(file string) (*pki.Bundle, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxInspected+1))
	switch {
	case err != nil:
		return nil, errors.Unwrap(err)
	case len(data) > maxInspected:
		return nil, fmt.Errorf("more than %d bytes are too many for a PEM file", maxInspected)
	}
	return pki.ParseBundle(data)
}

// keyProblems tells who else may read the file of a private key.
func keyProblems(file string) []string {
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 {
		return []string{fmt.Sprintf("everybody on this machine may read the private key: chmod 600 %s", file)}
	}
	return []string{}
}

func hasKey(keys []crypto.Signer, cert *x509.Certificate) bool {
	for _, key := range keys {
		if pki.SameKey(key.Public(), cert.PublicKey) {
			return true
		}
	}
	return false
}

func hasCertificate(certs []*x509.Certificate, key crypto.Signer) bool {
	for _, cert := range certs {
		if pki.SameKey(key.Public(), cert.PublicKey) {
			return true
		}
	}
	return false
}

// keyText names the kind of a public key.
func keyText(key crypto.PublicKey) string {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Curve.Params().Name
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.N.BitLen())
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return fmt.Sprintf("%T", key)
}
