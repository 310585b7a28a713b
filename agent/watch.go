package agent

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/yacron2/yacron2/agent/config"
)

// How files are watched.
const (
	// settleTime is how long files must be left alone before they are read: editors and
	// deployment tools write several, and in several steps.
	settleTime = 200 * time.Millisecond
	// settleLimit bounds the wait where something writes all the time.
	settleLimit = 2 * time.Second
	// checkInterval is how often files are compared without any notice: network file
	// systems give none.
	checkInterval = time.Minute
)

// watcher reads the configuration again when one of its files changes.
type watcher struct {
	agent  *Agent
	notify *fsnotify.Watcher // nil where the system has no notices left: the check remains
	cancel context.CancelFunc
	done   chan struct{}
}

// watched lists the files of which a change counts.
func (a *Agent) watched() []string { return watchedFiles(a.opts, a.config.Load()) }

// watchedFiles lists what opts name, and what was read for cfg.
func watchedFiles(opts Options, cfg *config.Config) []string {
	return slices.Concat(opts.ConfigDirs, opts.ConfigFiles, cfg.Files)
}

// startWatch begins to watch. It stops with the agent.
func (a *Agent) startWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{agent: a, cancel: cancel, done: make(chan struct{})}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		a.log.Warn("changed files are noticed by the check every minute only", "error", err)
	} else {
		w.notify = notify
	}
	a.watch = w
	a.rewatch()
	go func() {
		defer close(w.done)
		w.run(ctx)
	}()
}

// stop ends the watch and waits for its goroutine.
func (w *watcher) stop(context.Context) error {
	w.cancel()
	<-w.done
	if w.notify == nil {
		return nil
	}
	return w.notify.Close()
}

// rewatch follows the files of the configuration in effect. Folders are watched, since
// files are often replaced as a whole.
func (a *Agent) rewatch() {
	w := a.watch
	if w == nil || w.notify == nil {
		return
	}
	wanted := map[string]bool{}
	for _, name := range a.watched() {
		for _, folder := range foldersOf(name) {
			wanted[folder] = true
		}
	}
	for _, have := range w.notify.WatchList() {
		if !wanted[have] {
			_ = w.notify.Remove(have)
		}
		delete(wanted, have)
	}
	for folder := range maps.Keys(wanted) {
		if err := w.notify.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.log.Debug("folder cannot be watched", "folder", folder, "error", err)
		}
	}
}

// foldersOf lists the folders in which something can happen that changes what name
// leads to: its own, name itself if it is one, and those that hold a symbolic link on
// the way.
func foldersOf(name string) []string {
	folders := []string{filepath.Dir(name)}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		folders = append(folders, name)
	}
	for part := filepath.Dir(name); part != filepath.Dir(part); part = filepath.Dir(part) {
		if info, err := os.Lstat(part); err == nil && info.Mode().Type() == fs.ModeSymlink {
			folders = append(folders, filepath.Dir(part))
		}
	}
	return folders
}

func (w *watcher) run(ctx context.Context) {
	var events <-chan fsnotify.Event
	var faults <-chan error
	if w.notify != nil {
		events, faults = w.notify.Events, w.notify.Errors
	}
	check := time.NewTicker(checkInterval)
	defer check.Stop()
	var settled <-chan time.Time
	var first time.Time // of the notices not yet acted upon
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			now := time.Now()
			if settled == nil {
				first = now
			}
			settled = time.After(max(0, min(settleTime, settleLimit-now.Sub(first))))
		case err := <-faults:
			if err != nil {
				w.agent.log.Debug("file notices were lost, looking at every file", "error", err)
				settled = time.After(0)
			}
		case <-settled:
			settled = nil
			w.reloadIfChanged(ctx, TriggerFile)
		case <-check.C:
			w.reloadIfChanged(ctx, TriggerCheck)
		}
	}
}

// reloadIfChanged reads the configuration again if a file is not as it was when it was
// read last. The check also tries again what failed: the cause may lie outside the
// files, as a missing user does.
func (w *watcher) reloadIfChanged(ctx context.Context, trigger Trigger) {
	a := w.agent
	a.change.Lock()
	seen := a.seen
	stopped := a.stopped
	a.change.Unlock()
	failed := a.loaded.Load().failure != nil
	if stopped || (maps.Equal(seen, stampFiles(a.watched())) && (trigger != TriggerCheck || !failed)) {
		return
	}
	// What fails is logged there.
	_ = a.ReloadFor(ctx, trigger)
}
