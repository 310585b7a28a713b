package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/scheduler/report"
)

// A Trigger says what asked for the configuration to be read.
type Trigger string

// The triggers.
const (
	TriggerStart  Trigger = "start"
	TriggerSignal Trigger = "signal"
	TriggerAPI    Trigger = "api"
	TriggerFile   Trigger = "file"  // a file changed
	TriggerCheck  Trigger = "check" // the check that comes every minute
)

// loadStatus is what became of the newest attempt to load the configuration.
type loadStatus struct {
	trigger           Trigger
	at                time.Time
	loadedAt          time.Time // of the configuration in effect
	problems          config.Diagnostics
	failure           error // nil: what was read is in effect
	reloads, failures int
}

// load reads the configuration that opts name. known spares what has not changed since
// an earlier call; nil reads everything from scratch.
func load(opts Options, known *config.Known) (*config.Config, config.Diagnostics) {
	s := sources(opts)
	s.Known = known
	return config.Load(s)
}

// sources returns where opts say that the configuration is.
func sources(opts Options) config.Sources {
	s := config.Sources{Files: opts.ConfigFiles, Dirs: opts.ConfigDirs,
		CheckTemplate: report.CheckTemplate}
	if opts.Dev {
		s.Inline = append(s.Inline, config.Inline{Name: "dev.yaml", Text: devConfig})
	}
	return s
}

// Reload reads the configuration again and puts all of it into effect, or nothing: on
// an error the old one stays, whole. Running jobs keep the definition they were started
// with. An error of the files is config.Diagnostics.
func (a *Agent) Reload(ctx context.Context) error { return a.ReloadFor(ctx, TriggerSignal) }

// ReloadFor is Reload on behalf of a trigger, which the status names.
func (a *Agent) ReloadFor(ctx context.Context, trigger Trigger) error {
	a.change.Lock()
	defer a.change.Unlock()
	if a.stopped {
		return ErrStopped
	}
	before := a.loaded.Load()
	// Before the files are read: what changes while they are is seen the next time.
	stamps := stampFiles(a.watched())
	status := loadStatus{
		trigger: trigger, at: time.Now(), loadedAt: before.loadedAt,
		reloads: before.reloads, failures: before.failures,
	}
	status.problems, status.failure = a.reload(ctx)
	a.seen = stamps
	if status.failure != nil {
		status.failures++
		if trigger != TriggerCheck || before.failure == nil || before.failure.Error() != status.failure.Error() {
			a.logProblems(status.failure)
			a.log.Error("reload failed: the old configuration stays in effect", "trigger", trigger)
		}
	} else {
		status.loadedAt = status.at
		status.reloads++
		// The new configuration may read other files. Those that were looked at before
		// may have changed since.
		a.seen = stampFiles(a.watched())
		for name := range a.seen {
			if was, ok := stamps[name]; ok {
				a.seen[name] = was
			}
		}
	}
	a.loaded.Store(&status)
	a.counts.reloaded(status)
	a.happenings.reloaded(status, a.config.Load())
	a.rewatch()
	return status.failure
}

// reload does all that can fail first, and then what cannot.
func (a *Agent) reload(ctx context.Context) (config.Diagnostics, error) {
	cfg, diags := load(a.opts, a.known)
	if diags.HasErrors() {
		return diags, diags.Errors()
	}
	web, err := webSettings(cfg.Web, a.node)
	if err != nil {
		return diags, fmt.Errorf("web: %w", err)
	}
	switch node, err := nodeName(a.opts, cfg); {
	case err != nil:
		return diags, err
	case node != a.node:
		return diags, fmt.Errorf("the node name cannot change from %q to %q while the agent runs: that needs a restart", a.node, node)
	}
	if dir := a.dataDir(cfg); dir != a.dataInUse {
		diags = append(diags, config.Diagnostic{Severity: config.Warning, Key: "dataDir",
			Message: "the data directory cannot change while the agent runs: that needs a restart"})
	}
	if err := a.prepareVoting(cfg); err != nil {
		return diags, err
	}
	plan := a.blueprint(cfg)
	if err := a.coordination.Check(plan); err != nil {
		return diags, fmt.Errorf("cluster: %w", err)
	}
	// Last, since it opens a file. The one in use is opened anew even if nothing has
	// changed: whoever renamed it asks for that with a reload.
	target, err := a.logs.open(logSettings(a.opts, cfg))
	if err != nil {
		return diags, err
	}
	old := a.config.Load()
	a.logs.use(target)
	a.install(ctx, cfg, plan, web)
	a.logRemarks(diags)
	a.log.Info("configuration loaded", "jobs", len(cfg.Jobs), "job-set-id", cfg.JobSetID,
		"job-set-changed", old.JobSetID != cfg.JobSetID)
	return diags, nil
}

// logProblems logs every problem of a configuration in a line of its own.
func (a *Agent) logProblems(err error) {
	var diags config.Diagnostics
	if !errors.As(err, &diags) {
		a.log.Error("configuration", "error", err)
		return
	}
	for _, d := range diags {
		a.log.Error("configuration", problemPairs("error", d)...)
	}
}

// logRemarks logs the warnings and notes of a configuration. What a note says often holds
// for many jobs, and is read again with each reload: it is logged for the first of them.
func (a *Agent) logRemarks(diags config.Diagnostics) {
	alike := make(map[string]int)
	for _, d := range diags {
		if d.Severity == config.Note {
			alike[d.Message]++
		}
	}
	for _, d := range diags {
		switch d.Severity {
		case config.Warning:
			a.log.Warn("configuration", problemPairs("warning", d)...)
		case config.Note:
			n := alike[d.Message]
			if delete(alike, d.Message); n == 0 {
				continue
			}
			pairs := problemPairs("note", d)
			if n > 1 {
				pairs = append(pairs, "more", n-1)
			}
			a.log.Info("configuration", pairs...)
		}
	}
}

// problemPairs puts a problem into the pairs of a log line.
func problemPairs(what string, d config.Diagnostic) []any {
	pairs := []any{"at", d.Position()}
	for _, p := range []struct{ key, value string }{{"job", d.Job}, {"key", d.Key}, {what, d.Message}, {"hint", d.Hint}} {
		if p.value != "" {
			pairs = append(pairs, p.key, p.value)
		}
	}
	return pairs
}
