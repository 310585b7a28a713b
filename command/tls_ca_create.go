package command

import (
	"flag"

	"github.com/yacron2/yacron2/internal/pki"
)

// tlsCACreateCommand makes a certificate authority.
type tlsCACreateCommand struct {
	Meta
	certFlags
	commonName string
}

func (c *tlsCACreateCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.StringVar(&c.commonName, "name", "yacron2 cluster CA", "`NAME` of the authority, for people.")
	c.addTo(fs, 3650)
	return fs
}

// Synopsis implements cli.Command.
func (c *tlsCACreateCommand) Synopsis() string { return "Make a certificate authority" }

// Help implements cli.Command.
func (c *tlsCACreateCommand) Help() string {
	return help("tls ca create [options]", `
Makes an authority for one cluster: ca.pem, which every node gets, and ca-key.pem,
which no node needs. Whoever has the key can join the cluster, so keep it elsewhere.

The nodes' certificates follow with: yacron2 tls cert create`, c.flags())
}

// Run implements cli.Command.
func (c *tlsCACreateCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) || !c.check(&c.Meta) {
		return exitMisuse
	}
	if c.commonName == "" {
		c.misuse("-name must not be empty")
		return exitMisuse
	}
	notBefore, notAfter := c.validity(c.Now())
	ca, err := pki.NewCA(pki.CAOptions{CommonName: c.commonName, NotBefore: notBefore, NotAfter: notAfter})
	if err != nil {
		return c.fail(err)
	}
	certFile, keyFile, err := c.write(&ca.Pair, "ca")
	if err != nil {
		return c.fail(err)
	}
	pairs(c.Stdout, [][2]string{
		{"Wrote " + certFile, "the authority's certificate, for every node"},
		{"Wrote " + keyFile, "its private key: keep it safe, no node needs it"},
	})
	c.printf("Valid until %s.\n\nNext, once for each node:\n\n  yacron2 tls cert create -ca %s -key %s -name NODE -dns HOST\n",
		notAfter.UTC().Format("2006-01-02"), certFile, keyFile)
	return exitOK
}
