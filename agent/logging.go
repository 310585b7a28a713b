package agent

import (
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// Log formats.
const (
	logFormatText = "text"
	logFormatJSON = "json"
)

// newLogger returns the root logger; every component gets a named child of it.
func newLogger(out io.Writer, level, format string) (hclog.Logger, error) {
	lvl, err := parseLevel(level)
	if err != nil {
		return nil, err
	}
	switch format {
	case "", logFormatText, logFormatJSON:
	default:
		return nil, fmt.Errorf("unknown log format %q: write text or json", format)
	}
	return hclog.New(&hclog.LoggerOptions{
		Level:      lvl,
		Output:     out,
		JSONFormat: format == logFormatJSON,
		TimeFormat: "2006-01-02T15:04:05.000Z07:00",
	}), nil
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
