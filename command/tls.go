package command

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mitchellh/cli"

	"github.com/yacron2/yacron2/internal/pki"
)

func tlsGroup(m Meta) cli.Command {
	return &group{m, "Make certificates for a cluster, and look into them"}
}

func tlsCAGroup(m Meta) cli.Command {
	return &group{m, "Make the authority that a cluster's certificates come from"}
}

func tlsCertGroup(m Meta) cli.Command {
	return &group{m, "Make the certificate of a node"}
}

// certFlags are the options that both kinds of certificate have.
type certFlags struct {
	days  int
	dir   string
	force bool
}

// addTo adds the options, with that many days by default.
func (c *certFlags) addTo(fs *flag.FlagSet, days int) {
	fs.IntVar(&c.days, "days", days, fmt.Sprintf("Validity in `DAYS` from now, %d by default.", days))
	fs.StringVar(&c.dir, "dir", ".", "`DIR` to write to, made if it does not exist; the current one by default.")
	fs.BoolVar(&c.force, "force", false, "Overwrite files that exist.")
}

// check reports options out of range as misuse.
func (c *certFlags) check(m *Meta) bool {
	const most = 100 * 365
	if c.days < 1 || c.days > most {
		return m.misuse("-days=%d: write 1 to %d", c.days, most)
	}
	return true
}

// clockSkew is how far back a validity reaches: the other nodes' clocks may be behind.
const clockSkew = time.Hour

// validity returns both ends of the validity that begins now.
func (c *certFlags) validity(now time.Time) (notBefore, notAfter time.Time) {
	return now.Add(-clockSkew), now.AddDate(0, 0, c.days)
}

// write puts pair into the folder as BASE.pem and BASE-key.pem and returns the two
// paths.
func (c *certFlags) write(pair *pki.Pair, base string) (certFile, keyFile string, err error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil { //nolint:gosec // certificates are for all to read, keys are files for their owner alone
		return "", "", err
	}
	certFile, keyFile = filepath.Join(c.dir, base+".pem"), filepath.Join(c.dir, base+"-key.pem")
	err = pair.Write(certFile, keyFile, c.force)
	var exists *fs.PathError
	if errors.Is(err, fs.ErrExist) && errors.As(err, &exists) {
		err = fmt.Errorf("%s exists already: -force overwrites it", exists.Path)
	}
	return certFile, keyFile, err
}
