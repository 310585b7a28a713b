package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	// patience is how long a page may take for what a test waits for. It is no
	// expectation: how fast pages are is for the benchmarks to tell.
	patience  = 30 * time.Second
	pollEvery = 40 * time.Millisecond
)

// helpers are what the conditions of a test may call. They see into open shadow roots.
const helpers = `
const all = (selector, root = document) => {
	const found = [...root.querySelectorAll(selector)];
	for (const e of root.querySelectorAll('*')) if (e.shadowRoot) found.push(...all(selector, e.shadowRoot));
	return found;
};
const visible = (e) => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getBoundingClientRect().width > 0;
const one = (selector) => all(selector).find(visible) ?? null;
const text = (selector) => all(selector).filter(visible).map((e) => e.innerText).join('\n');
const focused = () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; };
const hit = (x, y) => { let e = document.elementFromPoint(x, y); while (e?.shadowRoot) { const inner = e.shadowRoot.elementFromPoint(x, y); if (!inner || inner === e) break; e = inner; } return e; };
const inside = (e, outer) => { for (; e; e = e.parentNode ?? e.host) if (e === outer) return true; return false; };
`

// Quote returns s as text in JavaScript.
func Quote(s string) string {
	data, _ := json.Marshal(s) // text can always be encoded
	return string(data)
}

// TestID returns the selector of the elements with that data-testid; attributes, in pairs
// of name and value, narrow it.
func TestID(id string, attributes ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[data-testid=%s]", attribute(id))
	for i := 0; i+1 < len(attributes); i += 2 {
		fmt.Fprintf(&b, "[%s=%s]", attributes[i], attribute(attributes[i+1]))
	}
	return b.String()
}

// attribute returns s as text in a selector.
func attribute(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\%x `, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Eval evaluates a JavaScript expression, which may call the helpers and may be a
// promise, and returns its value.
func Eval[T any](p *Page, expression string) T {
	p.tb.Helper()
	v, err := eval[T](p, expression)
	if err != nil {
		p.tb.Fatalf("%s: %v", expression, err)
	}
	return v
}

func eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, stepLimit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T]("(async () => {"+helpers+"return ("+expression+");})()", chromedp.EvalAwaitPromise))
}

// Await waits until a JavaScript expression is true; it may call all, one, text and
// focused with selectors.
func (p *Page) Await(what, condition string) {
	p.tb.Helper()
	p.poll(what, func() (bool, error) {
		ok, err := eval[bool](p, "!!("+condition+")")
		return ok, err
	}, func() string { return condition })
}

// poll calls check until it reports true.
func (p *Page) poll(what string, check func() (bool, error), state func() string) {
	p.tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		ok, err := check()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			if err != nil {
				p.tb.Fatalf("%s: not within %v: %v", what, patience, err)
			}
			p.tb.Fatalf("%s: not within %v: %s", what, patience, state())
		}
	}
}

// See waits until an element can be seen.
func (p *Page) See(selector string) {
	p.tb.Helper()
	p.Await(selector+" can be seen", "one("+Quote(selector)+")")
}

// Gone waits until no such element can be seen.
func (p *Page) Gone(selector string) {
	p.tb.Helper()
	p.Await(selector+" is gone", "!one("+Quote(selector)+")")
}

// SeeText waits until an element, or several together, show these words in whatever case.
func (p *Page) SeeText(selector string, words ...string) {
	p.tb.Helper()
	shown := ""
	p.poll(fmt.Sprintf("%s shows %q", selector, words), func() (bool, error) {
		var err error
		if shown, err = eval[string](p, "text("+Quote(selector)+")"); err != nil {
			return false, err
		}
		for _, w := range words {
			if !strings.Contains(strings.ToLower(shown), strings.ToLower(w)) {
				return false, nil
			}
		}
		return true, nil
	}, func() string { return fmt.Sprintf("it shows %q", shown) })
}

// Text returns what an element, or several together, show; "" if none can be seen.
func (p *Page) Text(selector string) string {
	p.tb.Helper()
	return Eval[string](p, "text("+Quote(selector)+")")
}

// spot is where an element is, and why it can't be clicked there.
type spot struct {
	X, Y    float64
	Problem string
}

// Click clicks into the middle of an element as soon as it can be seen, stands still and
// nothing else lies over it. It clicks again until the element is reached, or the one that
// has been put in its place: meanwhile it may have moved after all.
func (p *Page) Click(selector string) {
	p.tb.Helper()
	p.click("a click on "+selector, "one("+Quote(selector)+")")
}

// ClickButton is Click on the button inside of an element that has these words on it.
func (p *Page) ClickButton(within, words string) {
	p.tb.Helper()
	p.click("a click on "+words, "all("+Quote(within+" button")+").find((b) => visible(b) && b.innerText.trim() === "+Quote(words)+")")
}

// click clicks into the middle of what a JavaScript expression finds.
func (p *Page) click(what, element string) {
	p.tb.Helper()
	var at spot
	p.poll(what, func() (bool, error) {
		before := at
		var err error
		at, err = eval[spot](p, `(() => {
			const e = `+element+`;
			if (!e) return {X: 0, Y: 0, Problem: 'it cannot be seen'};
			e.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
			const r = e.getBoundingClientRect(), X = r.x + r.width / 2, Y = r.y + r.height / 2, top = hit(X, Y);
			window.reached = false;
			window.addEventListener('click', (event) => {
				const now = `+element+`;
				if (now && inside(event.composedPath()[0], now)) now.addEventListener('click', () => { window.reached = true; }, {capture: true, once: true});
			}, {capture: true, once: true});
			return {X, Y, Problem: top && inside(top, e) ? '' : 'over it lies ' + (top ? top.outerHTML.slice(0, 200) : 'the edge')};
		})()`)
		if err == nil && at.Problem == "" && at != before {
			return false, nil // it may still move
		}
		if err != nil || at.Problem != "" {
			return false, err
		}
		if err := p.try(chromedp.MouseClickXY(at.X, at.Y)); err != nil {
			return false, err
		}
		reached, err := eval[bool](p, "window.reached !== false")
		if err == nil && !reached {
			at = spot{Problem: "the click did not reach it"}
			return false, nil
		}
		return true, nil // or it leads to another page, which is loading
	}, func() string { return fmt.Sprintf("%+v", at) })
}

// Press presses keys one after the other on whatever has the focus. Those without a
// letter are in the package kb of chromedp.
func (p *Page) Press(keys string) { p.tb.Helper(); p.do(press(keys, chromedp.ModifierNone)) }

// PressControl presses one key while the control key is held.
func (p *Page) PressControl(key string) { p.tb.Helper(); p.do(press(key, chromedp.ModifierCtrl)) }

// press differs from KeyEvent of chromedp in that a key and its letter are one event, as
// they are on a keyboard: where the page takes the key for itself, no letter is written.
func press(keys string, held chromedp.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for _, r := range keys {
			var down *input.DispatchKeyEventParams
			for _, event := range kb.Encode(r) {
				event.Modifiers |= int64(held)
				switch event.Type {
				case kb.KeyDown:
					down = event
					continue
				case kb.KeyChar:
					if held == chromedp.ModifierNone {
						down.Text, down.UnmodifiedText = event.Text, event.UnmodifiedText
					}
					continue
				}
				for _, e := range []*input.DispatchKeyEventParams{down, event} {
					if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *e); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// Type clicks into a field and replaces what it holds.
func (p *Page) Type(selector, text string) {
	p.tb.Helper()
	p.Click(selector)
	Eval[bool](p, `(() => { const e = focused(); e.select?.(); return true; })()`)
	p.Press(kb.Backspace + text)
}

// Choose chooses an option of a select element by its value.
func (p *Page) Choose(selector, value string) {
	p.tb.Helper()
	p.See(selector)
	chosen := Eval[string](p, `(() => {
		let e = one(`+Quote(selector)+`);
		if (!(e instanceof HTMLSelectElement)) e = e.querySelector('select');
		e.value = `+Quote(value)+`;
		e.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
		e.dispatchEvent(new Event('change', {bubbles: true, composed: true}));
		return e.value;
	})()`)
	if chosen != value {
		p.tb.Fatalf("%s has no option %q", selector, value)
	}
}

// describe returns where the page is and what it shows.
func (p *Page) describe() string {
	shown, err := eval[string](p, `location.href + '\n' + document.body.innerText.slice(0, 4000)`)
	if err != nil {
		return err.Error()
	}
	return shown
}
