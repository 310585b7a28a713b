package browser

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// violationBinding is the function by which a page tells of a breach of its content
// security policy. The console has it too, but not that of a policy that only reports.
const violationBinding = "yacron2TestViolation"

// watchViolations calls it.
const watchViolations = `document.addEventListener('securitypolicyviolation', (e) =>
	` + violationBinding + `(e.violatedDirective + ' of ' + e.blockedURI + ' at ' + e.sourceFile + ':' + e.lineNumber));`

// watching returns the steps after which problems sees everything.
func watching() []chromedp.Action[chromedp.Void] {
	return []chromedp.Action[chromedp.Void]{
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
			return err
		}),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, runtime.AddBinding, runtime.AddBindingParams{Name: violationBinding})
			return err
		}),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchViolations})
			return err
		}),
	}
}

// problems are what went wrong in a page.
type problems struct {
	mu       sync.Mutex
	seen     []string
	urls     map[network.RequestID]string
	requests []string // method and URL, in order
	expected []*regexp.Regexp
}

// observe takes the events of a page; it is called in their order.
func (ps *problems) observe(event any) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			ps.add("console.%s: %s", e.Type, words(e.Args))
		}
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		ps.add("exception at %s:%d: %s", d.URL, d.LineNumber+1, text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			ps.add("%s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventBindingCalled:
		if e.Name == violationBinding {
			ps.add("content security policy: %s", e.Payload)
		}
	case *network.EventRequestWillBeSent:
		if ps.urls == nil {
			ps.urls = map[network.RequestID]string{}
		}
		ps.urls[e.RequestID] = e.Request.Method + " " + e.Request.URL
		ps.requests = append(ps.requests, e.Request.Method+" "+e.Request.URL)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			ps.add("request %s: status %d", ps.urls[e.RequestID], e.Response.Status)
		}
	case *network.EventLoadingFailed:
		// A page may break off its own requests.
		if !e.Canceled {
			ps.add("request %s: %s", ps.urls[e.RequestID], e.ErrorText)
		}
	}
}

func (ps *problems) add(format string, args ...any) {
	ps.seen = append(ps.seen, fmt.Sprintf(format, args...))
}

// words returns the arguments of a call of the console as text.
func words(args []*runtime.RemoteObject) string {
	var list []string
	for _, a := range args {
		if a.Description != "" {
			list = append(list, a.Description)
		} else {
			list = append(list, string(a.Value))
		}
	}
	return strings.Join(list, " ")
}

// report fails the test for each problem that is not expected.
func (ps *problems) report(tb testing.TB) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, problem := range ps.seen {
		if !slices.ContainsFunc(ps.expected, func(re *regexp.Regexp) bool { return re.MatchString(problem) }) {
			tb.Errorf("in the page: %s", problem)
		}
	}
}

// Expect lets the page have problems that match the pattern, from now on and before.
func (p *Page) Expect(pattern string) {
	p.tb.Helper()
	re, err := regexp.Compile(pattern)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.problems.mu.Lock()
	defer p.problems.mu.Unlock()
	p.problems.expected = append(p.problems.expected, re)
}

// Problems returns what went wrong so far, expected or not.
func (p *Page) Problems() []string {
	p.problems.mu.Lock()
	defer p.problems.mu.Unlock()
	return slices.Clone(p.problems.seen)
}

// Requests returns the method and URL of each request so far.
func (p *Page) Requests() []string {
	p.problems.mu.Lock()
	defer p.problems.mu.Unlock()
	return slices.Clone(p.problems.requests)
}
