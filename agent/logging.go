package agent

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
)

// Log formats and streams.
const (
	logFormatText   = "text"
	logFormatJSON   = "json"
	logStreamStdout = "stdout"
)

// logs is where the log of this process goes. A reload may change the level, the form
// and the place: every component keeps the logger that it was given, and each line goes
// to exactly one place.
type logs struct {
	stdout, stderr io.Writer
	root           hclog.InterceptLogger // every component gets a named child of it

	mu      sync.Mutex // held while a line is written
	current *logTarget
	monitor *monitor
}

var _ hclog.SinkAdapter = (*logs)(nil)

// logTarget is one place to log to, ready for use.
type logTarget struct {
	level hclog.Level
	sink  hclog.SinkAdapter
	file  *logFile // nil: a stream
}

// newLogs returns a log that goes nowhere until a target is in use. epoch tells the lines
// of this process from those of any other.
func newLogs(stdout, stderr io.Writer, epoch string) *logs {
	l := &logs{
		stdout: stdout, stderr: stderr, monitor: newMonitor(epoch),
		// The root itself writes nothing: only the sink does, which is told of all the
		// same.
		root: hclog.NewInterceptLogger(&hclog.LoggerOptions{
			Output:  io.Discard,
			Exclude: func(hclog.Level, string, ...any) bool { return true },
		}),
	}
	l.root.RegisterSink(l)
	return l
}

// Accept writes one line to the target in use, and keeps it for those who follow.
func (l *logs) Accept(name string, level hclog.Level, msg string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.sink.Accept(name, level, msg, args...)
	}
	now := time.Now()
	if l.monitor.expire(now) {
		l.admit()
	}
	l.monitor.record(now, name, level, msg, args)
}

// logSettings is what the options and the configuration together say of the log.
func logSettings(opts Options, cfg *config.Config) config.Logging {
	out := cfg.Logging
	out.Level, out.Format = firstOf(opts.LogLevel, out.Level), firstOf(opts.LogFormat, out.Format)
	return out
}

// open makes a target. It opens the file, if there is one, and changes nothing yet.
func (l *logs) open(s config.Logging) (*logTarget, error) {
	level, err := parseLevel(s.Level)
	if err != nil {
		return nil, err
	}
	switch s.Format {
	case "", logFormatText, logFormatJSON:
	default:
		return nil, fmt.Errorf("unknown log format %q: write text or json", s.Format)
	}
	t := &logTarget{level: level}
	out := l.stderr
	switch {
	case s.File != "":
		if t.file, err = openLogFile(s.File, s.MaxSize, s.MaxFiles, l.stderr); err != nil {
			return nil, err
		}
		out = t.file
	case s.Stream == logStreamStdout:
		out = l.stdout
	}
	t.sink = hclog.NewSinkAdapter(&hclog.LoggerOptions{
		Level:      level,
		Output:     out,
		JSONFormat: s.Format == logFormatJSON,
		TimeFormat: "2006-01-02T15:04:05.000Z07:00",
	})
	return t, nil
}

// use lets the log go to t from now on, and closes the target before it.
func (l *logs) use(t *logTarget) {
	l.mu.Lock()
	old := l.current
	l.current = t
	l.monitor.own = t.level
	l.admit()
	l.mu.Unlock()
	if old != nil {
		// All its lines are written; an error comes too late to be of use.
		_ = old.close()
	}
}

// close closes the file. What is still logged goes to the standard error.
func (l *logs) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return nil
	}
	return l.current.close()
}

// close closes what open has opened.
func (t *logTarget) close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// parseLevel accepts the level names of this agent and, in any case, those that the
// Python daemon used.
func parseLevel(s string) (hclog.Level, error) {
	switch strings.ToLower(s) {
	case "":
		return hclog.Info, nil
	case "warning":
		return hclog.Warn, nil
	case "critical":
		return hclog.Error, nil
	}
	if lvl := hclog.LevelFromString(s); lvl != hclog.NoLevel {
		return lvl, nil
	}
	return hclog.NoLevel, fmt.Errorf("unknown log level %q: write trace, debug, info, warn or error", s)
}
