package run

import "github.com/hashicorp/go-hclog"

// logger is an hclog.Logger that may be absent.
type logger struct {
	hclog.Logger
	job string
}

func (l logger) warn(text string, args ...any) {
	if l.Logger != nil {
		l.Warn(text, append([]any{"job", l.job}, args...)...)
	}
}
