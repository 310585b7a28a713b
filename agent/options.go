package agent

import (
	"io"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are what a command line decides. The zero value of a field leaves the
// decision to the configuration files, or to the default.
type Options struct {
	// ConfigDirs and ConfigFiles are read in this order and form one configuration.
	ConfigDirs  []string
	ConfigFiles []string
	// Dev runs a built-in single-node configuration instead of files.
	Dev bool

	DataDir   string // "": everything in memory, unless the configuration says otherwise
	LogLevel  string // trace, debug, info, warn or error
	LogFormat string // text or json
	NodeName  string // "": the configured name, else the host name

	// Stdout receives the output of jobs, Stderr the log and the jobs' errors; nil
	// means those of this process.
	Stdout, Stderr io.Writer

	// Registry receives the metrics; nil means one of its own. Two agents need two.
	Registry *prometheus.Registry
	// ProcessMetrics also shows what libraries count for the whole process, such as
	// memberlist. One agent of a process can have that.
	ProcessMetrics bool

	// For tests: the wall clock that peers get to see; nil is that of the machine.
	now func() time.Time
}

func (o *Options) fill() {
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
}
