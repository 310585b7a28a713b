package browser

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// stepLimit bounds one step that does not wait for the page to do something. Checking a
// large page is one, on a machine that has other things to do.
const stepLimit = 2 * time.Minute

// Sizes of a window in CSS pixels.
var (
	Desktop = Size{1280, 800}
	Phone   = Size{390, 844}
)

// Size is the size of a window.
type Size struct{ Width, Height int64 }

// Options say how a page is looked at.
type Options struct {
	Size  Size // the zero value is Desktop
	Dark  bool // what the system prefers
	Touch bool // fingers, and the way phones lay pages out
	// Still asks for reduced motion.
	Still bool
	// Contrast asks for more contrast.
	Contrast bool
}

// Page is one tab. Nothing that another page stored is known in it.
type Page struct {
	tb       testing.TB
	ctx      context.Context
	problems problems
	close    func()
}

// Open opens an empty page. When the test ends, or at Close, it fails if anything went
// wrong in the page that the test did not expect.
func Open(tb testing.TB, o Options) *Page {
	tb.Helper()
	Require(tb)
	started, err := shared.start()
	if err != nil {
		tb.Fatal(err)
	}
	p := &Page{tb: tb}
	ctx, cancel := chromedp.NewContext(started, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.problems.observe))
	p.ctx = ctx
	p.close = sync.OnceFunc(func() {
		if tb.Failed() {
			tb.Logf("the page at the end:\n%s", p.describe())
		}
		cancel()
		p.problems.report(tb)
	})
	tb.Cleanup(p.close)
	if o.Size == (Size{}) {
		o.Size = Desktop
	}
	scheme, motion, contrast := "light", "no-preference", "no-preference"
	if o.Dark {
		scheme = "dark"
	}
	if o.Still {
		motion = "reduce"
	}
	if o.Contrast {
		contrast = "more"
	}
	if err := chromedp.Do(ctx); err != nil { // opens the tab, which lives as long as ctx
		tb.Fatal(err)
	}
	view := []chromedp.EmulateViewportOption{}
	if o.Touch {
		view = append(view, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	p.do(watching()...)
	p.do(
		chromedp.EmulateViewport(o.Size.Width, o.Size.Height, view...),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: motion},
				{Name: "prefers-contrast", Value: contrast},
			}})
			return err
		}),
	)
	return p
}

// Close closes the page before the test ends.
func (p *Page) Close() { p.tb.Helper(); p.close() }

// do runs steps within stepLimit.
func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.tb.Helper()
	if err := p.try(steps...); err != nil {
		p.tb.Fatal(err)
	}
}

func (p *Page) try(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, stepLimit)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Visit loads a page and waits until it has loaded.
func (p *Page) Visit(url string) { p.tb.Helper(); p.do(chromedp.Navigate(url)) }

// Reload loads the page again.
func (p *Page) Reload() { p.tb.Helper(); p.do(chromedp.Reload()) }

// Resize changes the size of the window.
func (p *Page) Resize(s Size) { p.tb.Helper(); p.do(chromedp.EmulateViewport(s.Width, s.Height)) }

// Permit says what a person has answered, or would, when a page asks for a permission such
// as "notifications".
func (p *Page) Permit(name string, granted bool) {
	p.tb.Helper()
	setting := browser.PermissionSettingDenied
	if granted {
		setting = browser.PermissionSettingGranted
	}
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: setting,
			BrowserContextID: chromedp.FromContext(ctx).BrowserContextID,
		})
		return err
	}))
}

// Inject runs JavaScript in each page that is visited from now on, before its own.
func (p *Page) Inject(source string) {
	p.tb.Helper()
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
		return err
	}))
}
