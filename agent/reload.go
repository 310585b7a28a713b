package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/yacron2/yacron2/agent/config"
)

// load reads the configuration that opts name.
func load(opts Options) (*config.Config, config.Diagnostics) {
	sources := config.Sources{Files: opts.ConfigFiles, Dirs: opts.ConfigDirs, Unsupported: unsupported}
	if opts.Dev {
		sources.Inline = append(sources.Inline, config.Inline{Name: "dev.yaml", Text: devConfig})
	}
	return config.Load(sources)
}

// Reload reads the configuration again and puts all of it into effect, or nothing: on
// an error the old one stays, whole. Running jobs keep the definition they were started
// with.
func (a *Agent) Reload(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	if a.stopped {
		return ErrStopped
	}
	err := a.reload(ctx)
	if err != nil {
		a.log.Error("reload failed, the old configuration stays in effect", "error", err)
	}
	return err
}

func (a *Agent) reload(ctx context.Context) error {
	cfg, diags := load(a.opts)
	if err := diags.Err(); err != nil {
		return err
	}
	web, err := webSettings(cfg.Web)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	level, err := parseLevel(firstOf(a.opts.LogLevel, cfg.Logging.Level))
	if err != nil {
		return err
	}
	if node, err := nodeName(a.opts, cfg); err != nil {
		return err
	} else if node != a.node {
		return errors.New("the node name cannot change while the agent runs: restart it")
	}
	old := a.config.Load()
	a.root.SetLevel(level)
	a.install(ctx, cfg, web)
	a.warn(diags)
	a.log.Info("configuration reloaded", "jobs", len(cfg.Jobs), "job-set-id", cfg.JobSetID,
		"job-set-changed", old.JobSetID != cfg.JobSetID)
	return nil
}
