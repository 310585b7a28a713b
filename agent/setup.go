package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/internal/version"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
	"github.com/yacron2/yacron2/scheduler/report"
	"github.com/yacron2/yacron2/ui"
)

// webStopLimit bounds how long answers under way may hold up the end of the process.
const webStopLimit = 3 * time.Second

// wire builds the components of cfg and binds the addresses. Each step pushes what
// undoes it, in the order in which Stop must go: the API goes last.
func (a *Agent) wire(log hclog.Logger, cfg *config.Config) error {
	hist, err := a.openHistory(log, cfg)
	if err != nil {
		return err
	}
	a.history = hist
	a.down.push("history", func(context.Context) error { return hist.Close() })
	// Whenever they are opened, they are closed after the cluster has stopped.
	a.down.push("votes", func(context.Context) error { return a.voting.close() })
	if err := a.prepareVoting(cfg); err != nil {
		return err
	}
	reporter := report.New(report.Config{
		Logger: log, Version: version.Version, Stdout: fileOf(a.opts.Stdout), Stderr: fileOf(a.opts.Stderr),
	})
	a.down.push("reporters", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, reportStopLimit)
		defer cancel()
		return reporter.Stop(ctx)
	})
	if a.counts, err = newMetrics(a.opts.Registry, time.Now()); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	a.happenings = newHappenings(a.node, a.instanceID)
	reports := reporting{reporter, a.node}
	dispatcher, err := scheduler.NewDispatcher(scheduler.DispatcherConfig{
		Node:    a.node,
		Runner:  a.newRunner(log),
		History: hist,
		Logger:  log.Named("scheduler"),
		Stdout:  a.opts.Stdout,
		Stderr:  a.opts.Stderr,

		ClockSet: a.watchClock(log.Named("scheduler")),
		Events: func(e scheduler.Event) {
			reports.observe(e)
			a.counts.observe(e)
			a.happenings.observe(e)
		},
	})
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	a.dispatcher = dispatcher
	a.coordination = newCoordination(log.Named("cluster"), func(c scheduler.Coordinator) {
		dispatcher.SetCoordinator(c)
		a.happenings.viewChanged()
	})
	a.happenings.state, a.happenings.count = a.coordination.State, a.counts.viewChanged
	if err := a.expose(reporter); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	site, err := ui.New()
	if err != nil {
		return err
	}
	a.web = newWebServer(log.Named("http"), (&httpAPI{
		log:          log.Named("http"),
		node:         a.node,
		dispatcher:   dispatcher,
		history:      hist,
		coordination: a.coordination,
		happenings:   a.happenings,
		agentLog:     a.logs,
		settings:     a.settings,
		planned:      func() []*scheduler.Job { return a.config.Load().Jobs },
		loaded:       a.loadStatus,
		ready:        a.ready,
		slots:        &a.streams,
		answers:      newLargeAnswers(),
		list:         &jobList{},
		page:         a.page(),
		site:         site,
		expiries:     a.expiries,
		reload: func(ctx context.Context) error {
			return a.ReloadFor(ctx, TriggerAPI)
		},
	}).routes())

	a.down.push("http", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, webStopLimit)
		defer cancel()
		return a.web.stop(ctx)
	})
	a.down.push("cluster", a.coordination.Stop)
	a.down.push("scheduler", dispatcher.Stop)

	web, err := webSettings(cfg.Web, a.node)
	if err != nil {
		// Without its token the API would be open to everybody: it stays down, and
		// the jobs go on.
		a.log.Error("the HTTP API stays down", "error", err)
		web = webConfig{}
	}
	a.install(context.Background(), cfg, a.blueprint(cfg), web)
	return nil
}

// dataDir is where cfg keeps what outlives the process, "" for nowhere.
func (a *Agent) dataDir(cfg *config.Config) string { return firstOf(a.opts.DataDir, cfg.DataDir) }

// prepareVoting opens the votes if cfg is the first to need them.
func (a *Agent) prepareVoting(cfg *config.Config) error {
	return a.voting.prepare(a.log, cfg, a.node, a.dataInUse)
}

// openHistory opens the history in the data directory, or one in memory without it.
func (a *Agent) openHistory(log hclog.Logger, cfg *config.Config) (history.Store, error) {
	dir := a.dataDir(cfg)
	a.dataInUse = dir
	if dir == "" {
		return history.NewMemory(), nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	file := history.DefaultFileConfig(filepath.Join(dir, "history.db"))
	file.Logger = log.Named("history")
	return history.OpenFile(file)
}

// fileOf returns the file behind w, nil if there is none.
func fileOf(w io.Writer) *os.File {
	f, _ := w.(*os.File)
	return f
}

// install puts a configuration into effect. It cannot fail: whatever could was done
// before.
func (a *Agent) install(ctx context.Context, cfg *config.Config, plan *blueprint, web webConfig) {
	a.config.Store(cfg)
	a.counts.apply(cfg, a.dispatcher.IsRunning)
	a.dispatcher.Apply(scheduler.Plan{Jobs: cfg.Jobs, Elect: cfg.Cluster != nil && cfg.Cluster.ElectLeader})
	a.coordination.Apply(ctx, plan, newJobSet(cfg))
	// What cannot be bound is logged there, and the other addresses serve.
	_ = a.web.apply(web)
}

// loadStatus is what the API shows of the newest attempt to load the configuration.
func (a *Agent) loadStatus() loadStatus { return *a.loaded.Load() }

func newJobSet(cfg *config.Config) jobSet {
	set := jobSet{id: cfg.JobSetID, jobs: make(map[string]*scheduler.Job, len(cfg.Jobs))}
	for _, j := range cfg.Jobs {
		set.jobs[j.Name] = j
	}
	return set
}

// settings is what the API shows of the configuration in effect.
func (a *Agent) settings() settings {
	cfg := a.config.Load()
	s := settings{
		jobSetID: cfg.JobSetID,
		jobs:     len(cfg.Jobs),
		elect:    cfg.Cluster != nil && cfg.Cluster.ElectLeader,
		cluster:  cfg.Cluster,
	}
	if cfg.Web != nil {
		s.headers = cfg.Web.Headers
		s.metrics = cfg.Web.Metrics.Enabled
		s.ui = cfg.Web.UI
	}
	return s
}

// webSettings resolves the tokens. A token that cannot be had is an error: the API must
// then stay down.
func webSettings(web *config.Web, node string) (webConfig, error) {
	out := webConfig{hosts: newHostNames(web, node)}
	if web == nil {
		return out, nil
	}
	var errs []error
	for _, t := range web.Tokens {
		secret, err := t.Secret.Resolve()
		if err != nil {
			errs = append(errs, fmt.Errorf("web token %s: %w", t.Name, err))
			continue
		}
		s := scopeRead
		if t.Scope == config.ScopeOperate {
			s = scopeOperate
		}
		out.tokens = append(out.tokens, newToken(t.Name, secret, s))
	}
	if web.Metrics.Enabled && web.Metrics.Public {
		out.open = append(out.open, pathMetrics)
	}
	if web.UI {
		out.open = append(out.open, dashboardPaths()...)
	}
	out.listen = web.Listen
	out.certFile, out.keyFile = web.CertFile, web.KeyFile
	if web.SocketMode != nil {
		out.socketMode = *web.SocketMode
	}
	return out, errors.Join(errs...)
}
