package command

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yacron2/yacron2/internal/pki"
)

// tlsCertCreateCommand makes a node's certificate.
type tlsCertCreateCommand struct {
	Meta
	certFlags
	caFile, keyFile string
	node            string
	dns             []string
	ips             []net.IP
}

func (c *tlsCertCreateCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.StringVar(&c.caFile, "ca", "ca.pem", "`FILE` with the authority's certificate, ca.pem by default.")
	fs.StringVar(&c.keyFile, "key", "ca-key.pem", "`FILE` with the authority's private key, ca-key.pem by default.")
	fs.StringVar(&c.node, "name", "", "`NODE` that gets the certificate: its nodeName, and the name of the files. Required.")
	fs.Func("dns", "`HOST` by which other nodes reach this one, as it stands in their peers. May be repeated. If there is neither -dns nor -ip, the node's name.", c.addDNS)
	fs.Func("ip", "`ADDRESS` by which other nodes reach this one, where their peers name an address. May be repeated.", c.addIP)
	c.addTo(fs, 365)
	return fs
}

var (
	nodeNamePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	dnsNamePattern  = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)
)

func (c *tlsCertCreateCommand) addDNS(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		switch {
		case net.ParseIP(name) != nil:
			return fmt.Errorf("%s is an address: write -ip=%s", name, name)
		case len(name) > 253 || !dnsNamePattern.MatchString(name):
			return errors.New("write a host name without a port")
		}
		c.dns = append(c.dns, name)
	}
	return nil
}

func (c *tlsCertCreateCommand) addIP(value string) error {
	for text := range strings.SplitSeq(value, ",") {
		ip := net.ParseIP(text)
		if ip == nil {
			return errors.New("write an IPv4 or IPv6 address without a port")
		}
		c.ips = append(c.ips, ip)
	}
	return nil
}

// Synopsis implements cli.Command.
func (c *tlsCertCreateCommand) Synopsis() string { return "Make a node's certificate" }

// Help implements cli.Command.
func (c *tlsCertCreateCommand) Help() string {
	return help("tls cert create -name NODE [options]", `
Makes the certificate of one node, NODE.pem and NODE-key.pem, signed by the
authority that yacron2 tls ca create made. It serves both ends of a connection.

Other nodes accept it only under the hosts and addresses it was made for: those
that stand in the peers of their cluster sections.`, c.flags())
}

// Run implements cli.Command.
func (c *tlsCertCreateCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) || !c.check(&c.Meta) {
		return exitMisuse
	}
	switch {
	case c.node == "":
		c.misuse("-name is required: the node's nodeName")
		return exitMisuse
	case !nodeNamePattern.MatchString(c.node):
		c.misuse("-name=%s: use letters, digits, dots, dashes and underscores only", plain(c.node))
		return exitMisuse
	case len(c.dns) == 0 && len(c.ips) == 0 && !dnsNamePattern.MatchString(c.node):
		c.misuse("-name=%s is no host name: name one with -dns or -ip", c.node)
		return exitMisuse
	case len(c.dns) == 0 && len(c.ips) == 0:
		c.dns = []string{c.node}
	}
	ca, err := pki.LoadCA(c.caFile, c.keyFile)
	if err != nil {
		return c.fail(err)
	}
	notBefore, notAfter := c.validity(c.Now())
	if end := ca.Certificate.NotAfter; notAfter.After(end) {
		return c.fail(fmt.Errorf("the authority itself ends on %s: write a smaller -days", end.UTC().Format("2006-01-02")))
	}
	pair, err := ca.Issue(pki.CertOptions{CommonName: c.node, DNSNames: c.dns, IPs: c.ips, NotBefore: notBefore, NotAfter: notAfter})
	if err != nil {
		return c.fail(err)
	}
	certFile, keyFile, err := c.write(pair, c.node)
	if err != nil {
		return c.fail(err)
	}
	names := append([]string{}, c.dns...)
	for _, ip := range c.ips {
		names = append(names, ip.String())
	}
	pairs(c.Stdout, [][2]string{
		{"Wrote " + certFile, "for " + strings.Join(names, ", ")},
		{"Wrote " + keyFile, "its private key, for this node alone"},
	})
	c.printf("Valid until %s.\n\nIn this node's configuration:\n\ncluster:\n  nodeName: %s\n  tls:\n    ca: %s\n    cert: %s\n    key: %s\n",
		notAfter.UTC().Format("2006-01-02"), c.node, absolute(c.caFile), absolute(certFile), absolute(keyFile))
	return exitOK
}

// absolute returns the path as the configuration needs it, wherever the agent starts.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
