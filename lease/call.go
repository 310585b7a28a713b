package lease

import (
	"context"
	"strings"
	"time"
)

// Sleep waits for d, or until ctx ends: then it returns why.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OneLine cuts the text of a store, or of something in front of it, to what fits in a log:
// one line of most bytes, and three dots behind them if there was more.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
