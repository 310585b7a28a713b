package kubernetes

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/lease"
)

// The values of Config.ClientLibrary, which once chose between two clients. There is one
// now; only a kubeconfig that asks for a plugin tells the values apart.
const (
	libraryAuto = "auto"
	libraryHTTP = "http"
	libraryOnly = "library"
)

// Config says which Lease to use, and how to get at it.
type Config struct {
	Identity lease.Identity
	// HolderIdentity is the name under which this node holds the Lease;
	// Identity.NodeName if empty.
	HolderIdentity string

	LeaseName string
	// LeaseNamespace is, if empty, the pod's own, or that of the kubeconfig's context.
	LeaseNamespace string

	// Duration is how long the Lease stands without a renewal, in whole seconds.
	// RenewDeadline bounds a renewal, RetryPeriod is the pause between two of them.
	Duration, RenewDeadline, RetryPeriod time.Duration

	// Kubeconfig is a file with credentials; if empty, those of the pod are used.
	Kubeconfig string
	// APIServer replaces the address that the credentials come with.
	APIServer string
	// ClientLibrary is auto, http or library; "" is auto. With http, a kubeconfig that
	// gets its credentials from a plugin is an error.
	ClientLibrary string
	// ConnectTimeout bounds one connection attempt with its TLS handshake; 0 is 10 s.
	ConnectTimeout time.Duration

	Logger hclog.Logger // nil: silent
	// WallClock is what goes into the Lease for people to see, and sets the floor of a
	// new Lease; nil is time.Now.
	WallClock func() time.Time

	// podFiles replaces the folder of the pod's credentials, and environ os.Getenv.
	podFiles string
	environ  func(string) string
}

var (
	objectName    = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// complete fills in what was left to the defaults and reports what cannot work.
func (c *Config) complete() error {
	if c.HolderIdentity == "" {
		c.HolderIdentity = c.Identity.NodeName
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.WallClock == nil {
		c.WallClock = time.Now
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.ClientLibrary == "" {
		c.ClientLibrary = libraryAuto
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Identity.InstanceID == "" || c.HolderIdentity == "" {
		fail("a node needs a name and an instance id")
	}
	if len(c.LeaseName) > 253 || !objectName.MatchString(c.LeaseName) {
		fail("%q is no name of a Lease", c.LeaseName)
	}
	if c.LeaseNamespace != "" && (len(c.LeaseNamespace) > 63 || !namespaceName.MatchString(c.LeaseNamespace)) {
		fail("%q is no name of a namespace", c.LeaseNamespace)
	}
	if c.RetryPeriod <= 0 || c.RenewDeadline <= c.RetryPeriod || c.Duration <= c.RenewDeadline+c.RetryPeriod {
		fail("the lease duration (%s) must be above the renew deadline (%s) plus the retry period (%s), and the deadline above the period",
			c.Duration, c.RenewDeadline, c.RetryPeriod)
	}
	if c.ConnectTimeout < 0 {
		fail("the connect timeout must be above 0, not %s", c.ConnectTimeout)
	}
	switch c.ClientLibrary {
	case libraryAuto, libraryHTTP, libraryOnly:
	default:
		fail("the client library is %s, %s or %s, not %q", libraryAuto, libraryHTTP, libraryOnly, c.ClientLibrary)
	}
	if c.APIServer != "" && !strings.HasPrefix(c.APIServer, "https://") {
		fail("the address of the API server must begin with https://")
	}
	return errors.Join(errs...)
}
