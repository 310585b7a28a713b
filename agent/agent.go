package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/internal/version"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// Agent is one yacron2 process.
type Agent struct {
	opts Options
	logs *logs // whose root is the parent of every component's logger
	log  hclog.Logger
	node string
	// dataInUse is the data directory until the process ends; "": all is in memory.
	dataInUse string
	// instanceID tells this process from every other, whatever is rebuilt in it.
	instanceID string

	history      history.Store
	voting       voting
	dispatcher   *scheduler.Dispatcher
	coordination *coordination
	happenings   *happenings
	streams      streamSlots
	counts       *metrics
	ends         expiries
	web          *webServer

	// change serialises Start, Reload and Stop.
	change  sync.Mutex
	started bool
	stopped bool // no Start and no Reload any more
	down    cleanupStack
	watch   *watcher
	seen    map[string]fileState // the configuration's files as they were last read
	known   *config.Known        // what was learnt of them

	service  atomic.Int32 // for probes
	stopping sync.Once
	stopErr  error

	config atomic.Pointer[config.Config] // in effect
	loaded atomic.Pointer[loadStatus]    // of the newest attempt
}

// ErrStopped is returned by what cannot be done to an agent that was stopped.
var ErrStopped = errors.New("the agent was stopped")

// New reads the configuration, wires the components and binds the addresses of the
// HTTP API. An invalid configuration is an error that lists every problem
// (config.Diagnostics); an address that cannot be bound is logged, and the others serve.
func New(opts Options) (*Agent, error) {
	opts.fill()
	known := &config.Known{}
	cfg, diags := load(opts, known)
	if diags.HasErrors() {
		return nil, diags.Errors()
	}
	seen := stampFiles(watchedFiles(opts, cfg))
	node, err := nodeName(opts, cfg)
	if err != nil {
		return nil, err
	}
	instance := newInstanceID()
	logs := newLogs(opts.Stdout, opts.Stderr, instance[8:16])
	target, err := logs.open(logSettings(opts, cfg))
	if err != nil {
		return nil, err
	}
	logs.use(target)
	a := &Agent{
		opts: opts, logs: logs, log: logs.root.Named("agent"), node: node, instanceID: instance,
		seen: seen, known: known,
	}
	a.streams.limit = int64(connectionLimit() / 2)
	if err := a.wire(logs.root, cfg); err != nil {
		return nil, errors.Join(err, a.down.unwind(context.Background()), logs.close())
	}
	now := time.Now()
	a.loaded.Store(&loadStatus{trigger: TriggerStart, at: now, loadedAt: now, problems: diags})
	a.counts.loaded(a.loadStatus())
	a.counts.recall(a.history.Runs)
	a.logRemarks(diags)
	a.log.Info("yacron2", "version", version.Version, "node", a.node, "jobs", len(cfg.Jobs), "job-set-id", cfg.JobSetID)
	return a, nil
}

// nodeName is the name by which jobs and peers know this node.
func nodeName(opts Options, cfg *config.Config) (string, error) {
	if opts.NodeName != "" {
		return opts.NodeName, nil
	}
	if cfg.Cluster != nil && cfg.Cluster.NodeName != "" {
		return cfg.Cluster.NodeName, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("no node name is configured and the host name cannot be read: %w", err)
	}
	return host, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Start launches everything: the cluster first, so that the first firing finds a view.
// A cluster that cannot start does not keep the agent from running.
func (a *Agent) Start(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	switch {
	case a.stopped:
		return ErrStopped
	case a.started:
		return errors.New("the agent runs already")
	}
	a.started = true
	a.coordination.Start()
	if err := a.dispatcher.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	// Whoever gets an answer finds an agent that starts jobs.
	a.web.start()
	if !a.opts.Dev {
		a.startWatch()
		a.down.push("file watch", a.watch.stop)
	}
	releaseMemory()
	a.service.CompareAndSwap(notStarted, inService)
	a.log.Info("started", "node", a.node)
	return nil
}

// Stop ends the agent in peace: no new firings, leadership handed over, running jobs
// awaited, then the rest. If ctx ends first, running jobs are cancelled, and given
// their killTimeout. Stop is idempotent.
func (a *Agent) Stop(ctx context.Context) error {
	a.service.Store(outOfService)
	a.dispatcher.Quiesce()
	a.stopping.Do(func() {
		// A reload under way ends first, and none begins any more. The lock is not
		// held longer: what is stopped below may be waiting for it.
		a.change.Lock()
		a.stopped = true
		a.change.Unlock()
		a.stopErr = a.shutdown(ctx)
	})
	return a.stopErr
}

func (a *Agent) shutdown(ctx context.Context) error {
	a.log.Info("stopping: no new firings")
	if err := a.coordination.Resign(ctx); err != nil {
		a.log.Warn("leadership was not handed over cleanly", "error", err)
	}
	if limit := a.config.Load().ShutdownTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if err := a.dispatcher.Drain(ctx); err != nil {
		a.log.Warn("running jobs are cancelled", "reason", err)
		a.dispatcher.CancelAll()
	}
	err := a.down.unwind(context.WithoutCancel(ctx))
	a.log.Info("stopped")
	return errors.Join(err, a.logs.close())
}

// CancelRunning cancels every running job and returns at once. It is what the second
// signal asks for.
func (a *Agent) CancelRunning() {
	a.log.Warn("cancelling running jobs")
	a.dispatcher.CancelAll()
}

// Addresses lists the addresses on which the HTTP API listens.
func (a *Agent) Addresses() []string { return a.web.addresses() }
