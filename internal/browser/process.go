package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// shared is the one Chromium of a test process. Each page has a context of its own in it,
// with its own cache, storage and cookies.
var shared process

type process struct {
	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	err    error
}

// Require skips a test where there is no Chromium, and fails it on a CI machine, where
// there must be one.
func Require(tb testing.TB) {
	tb.Helper()
	if _, err := executable(); err != nil {
		leave(tb, err)
	}
}

// leave skips a test for want of a program, but not on a CI machine.
func leave(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatal(err)
	} else {
		tb.Skip(err)
	}
}

// executable returns the path of Chromium.
func executable() (string, error) {
	// Debian's chromium is a script around the first of these.
	for _, name := range []string{"/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no chromium on this machine")
}

// start starts Chromium unless it runs, and returns its context.
func (p *process) start() (context.Context, error) {
	p.once.Do(func() {
		path, err := executable()
		if err != nil {
			p.err = err
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path),
			chromedp.DisableGPU,
			chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-quic", true),
			chromedp.Flag("hide-scrollbars", true),
			chromedp.Flag("font-render-hinting", "none"),
		)
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		// What is newer in the browser than in the library is no matter of the tests.
		quiet := func(string, ...any) {}
		ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
		p.cancel = func() { cancel(); stop() }
		if err := chromedp.Do(ctx); err != nil {
			p.cancel()
			p.err = fmt.Errorf("starting %s: %w", path, err)
			return
		}
		p.ctx = ctx
	})
	return p.ctx, p.err
}

// Close ends Chromium if it was started. TestMain calls it when all tests have ended.
func Close() {
	if shared.ctx != nil {
		shared.cancel()
	}
}
