package command

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yacron2/yacron2/agent"
	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
)

// agentCommand runs the agent in the foreground.
type agentCommand struct {
	Meta
	source    sourceFlags
	dev       bool
	dataDir   string
	logLevel  string
	logFormat string
	nodeName  string
}

func (c *agentCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.source.add(fs, &c.Env)
	fs.BoolVar(&c.dev, "dev", false, "Run a sample: one node, everything in memory, jobs of its own, the API on "+api.DefaultAddress+". Reads no files.")
	fs.StringVar(&c.dataDir, "data-dir", "", "`DIR` for what outlives the process, over dataDir of the configuration. Without either everything is in memory.")
	fs.StringVar(&c.logLevel, "log-level", "", "Lowest `LEVEL` that is logged, over logLevel of the configuration: "+strings.Join(logLevels, ", ")+".")
	fs.StringVar(&c.logFormat, "log-format", "", "`FORM` of the log, over logFormat of the configuration: text or json.")
	fs.StringVar(&c.nodeName, "node-name", "", "`NAME` of this node, over nodeName of the cluster section; the host's name if neither is given.")
	return fs
}

var logLevels = []string{"trace", "debug", "info", "warn", "error"}

// Synopsis implements cli.Command.
func (c *agentCommand) Synopsis() string { return "Run the agent" }

// Help implements cli.Command.
func (c *agentCommand) Help() string {
	return help("agent [options]", `
Runs the agent in the foreground. It logs to standard error; what jobs print and the
agent captures goes to standard output and standard error.

  SIGINT, SIGTERM  stop: nothing new starts, leadership is handed over, running
                   jobs are awaited
  the same again   running jobs are cancelled
  once more        the process ends at once and leaves them behind
  SIGHUP           the configuration is read again: all of it is taken, or nothing

Under systemd it works with Type=notify and a watchdog.

Exit codes: 0 stopped by a signal, 1 could not start or broke down, 2 misuse.`, c.flags())
}

// check reports misuse that parsing does not see.
func (c *agentCommand) check() bool {
	switch {
	case c.dev && (len(c.source.dirs)+len(c.source.files) > 0 || c.dataDir != ""):
		return c.misuse("-dev reads and keeps no files: leave -config-dir, -config-file and -data-dir away")
	case c.logLevel != "" && !slices.Contains(logLevels, c.logLevel):
		return c.misuse("unknown log level %q: write %s", c.logLevel, strings.Join(logLevels, ", "))
	case c.logFormat != "" && c.logFormat != "text" && c.logFormat != "json":
		return c.misuse("unknown log format %q: write text or json", c.logFormat)
	}
	return true
}

// Run implements cli.Command.
func (c *agentCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) || !c.check() {
		return exitMisuse
	}
	if !c.dev && !c.source.fill(&c.Meta) {
		c.hintf("or see what it does without any: yacron2 agent -dev")
		return exitFailed
	}
	// From here on, so that a signal during the start is not lost.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	if c.dev {
		c.printf(devIntroduction, api.DefaultAddress)
	}
	a, err := agent.New(agent.Options{
		ProcessMetrics: true,
		ConfigDirs:     c.source.dirs, ConfigFiles: c.source.files, Dev: c.dev, DataDir: c.dataDir,
		LogLevel: c.logLevel, LogFormat: c.logFormat, NodeName: c.nodeName,
		Stdout: c.Stdout, Stderr: c.Stderr,
	})
	if err != nil {
		return c.failStart(err)
	}
	if c.dev && len(a.Addresses()) == 0 {
		_ = a.Stop(context.Background())
		return c.failStart(errors.New("another program listens on " + api.DefaultAddress))
	}
	if err := a.Start(context.Background()); err != nil {
		return c.failStart(errors.Join(err, a.Stop(context.Background())))
	}
	if err := c.attend(a, signals); err != nil {
		c.errorf("%s", plain(err.Error()))
		return exitFailed
	}
	return exitOK
}

// attend looks after a started agent until it has stopped, and tells the service
// manager about it.
func (c *agentCommand) attend(a *agent.Agent, signals <-chan os.Signal) error {
	manager, err := newNotifier(c.Getenv)
	if err != nil {
		c.errorf("systemd is not told of this agent: %s", plain(err.Error()))
	}
	defer manager.close()
	ctx, cancel := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	keeping.Go(func() { manager.keepAlive(ctx, a.Ping) })
	defer keeping.Wait()
	defer cancel()
	manager.tell(stateReady)
	return supervise(a, signals, func() { manager.tell(stateStopping) })
}

const devIntroduction = `This is yacron2 in development mode: one node, everything in memory, two sample jobs.
Its API is on %[1]s. Try, in another terminal:

  yacron2 job list              or  curl %[1]s/status
  yacron2 job run hello         or  curl -X POST %[1]s/jobs/hello/start
  yacron2 job history hello     or  curl %[1]s/jobs/hello/runs

Ctrl-C stops it. To run your own jobs: yacron2 agent -config-dir DIR

`

// failStart reports why the agent does not run, with all problems of its configuration.
func (c *agentCommand) failStart(err error) int {
	var diags config.Diagnostics
	if errors.As(err, &diags) {
		return c.failConfig(diags)
	}
	return c.fail(err)
}

// lifecycle is what signals do to an agent.
type lifecycle interface {
	Reload(ctx context.Context) error
	Stop(ctx context.Context) error
	CancelRunning()
}

var _ lifecycle = (*agent.Agent)(nil)

// errAbandoned says that nobody waited for running jobs.
var errAbandoned = errors.New("ended by a third signal: jobs that still run are left behind")

// together is how soon signals to stop follow each other that were one: timeout(1) and
// other supervisors send theirs to the process and to its group, and so does whoever
// hands on what the terminal has sent already. No second thought is that quick.
const together = 200 * time.Millisecond

// supervise passes signals on to a started agent until it has stopped. It calls
// stopping when the first of them asks for that.
func supervise(a lifecycle, signals <-chan os.Signal, stopping func()) error {
	ctx := context.Background()
	// A reload takes its time, and a signal to stop must not wait for it. Several
	// SIGHUP during one reload are one more reload.
	reloads := make(chan struct{}, 1)
	var reloading sync.WaitGroup
	reloading.Go(func() {
		for range reloads {
			_ = a.Reload(ctx) // logged by the agent, and nothing has changed then
		}
	})
	for s := range signals {
		if s != syscall.SIGHUP {
			break
		}
		select {
		case reloads <- struct{}{}:
		default:
		}
	}
	last := time.Now()
	close(reloads)
	stopping()

	stopped := make(chan error, 1)
	go func() {
		err := a.Stop(ctx)
		reloading.Wait()
		stopped <- err
	}()
	for further := 0; ; {
		select {
		case err := <-stopped:
			return err
		case s := <-signals:
			if s == syscall.SIGHUP || time.Since(last) < together {
				continue
			}
			last = time.Now()
			if further++; further > 1 {
				return errAbandoned
			}
			a.CancelRunning()
		}
	}
}
