package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Close()
	os.Exit(code)
}

// serve serves pages by path, with a content security policy.
func serve(t *testing.T, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const head = `<!doctype html><html lang="en"><head><title>test</title><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">`

// A page that does what it must not is found out, whatever it does.
func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct{ body, code, want string }{
		"a message":         {"", `console.error('oh', 5)`, `^console\.error: "oh" 5$`},
		"a warning":         {"", `console.warn('hm')`, `^console\.warning: "hm"$`},
		"an exception":      {"", `null.x`, `^exception at .*/page\.js:1: .*TypeError`},
		"a lost promise":    {"", `Promise.reject(new Error('lost'))`, `^exception .*lost`},
		"a missing file":    {"", `fetch('/none')`, `^request GET .*/none: status 404$`},
		"no connection":     {"", `fetch('http://127.0.0.1:1/')`, `content security policy: connect-src of http://127\.0\.0\.1:1`},
		"code in the page":  {`<script>document.title = 'bad'</script>`, ``, `^content security policy: script-src-elem of inline`},
		"code in a button":  {`<button onclick="x()">x</button>`, ``, `^content security policy: script-src-attr of inline`},
		"style in the page": {`<p style="color:red">x</p>`, ``, `^content security policy: style-src-attr of inline`},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, map[string]string{"/": head + `<script src="page.js" defer></script></head><body>` + tt.body + `</body>`, "/page.js": tt.code})
			p := Open(t, Options{})
			p.Expect(".")
			p.Visit(url)
			re := regexp.MustCompile(tt.want)
			p.poll("the problem", func() (bool, error) { return slices.ContainsFunc(p.Problems(), re.MatchString), nil },
				func() string { return fmt.Sprintf("there are %q", p.Problems()) })
		})
	}
}

// What a person can do, a test can do, through shadow roots as well.
func TestActions(t *testing.T) {
	url := serve(t, map[string]string{
		"/": head + `<script src="page.js" defer></script></head><body><h1>page</h1><x-box></x-box></body>`,
		"/page.js": `
			customElements.define('x-box', class extends HTMLElement {
				connectedCallback() {
					const root = this.attachShadow({mode: 'open'});
					const field = document.createElement('input'), button = document.createElement('button'), out = document.createElement('output');
					field.dataset.testid = 'field'; field.value = 'old'; out.dataset.testid = 'out';
					button.dataset.testid = 'button'; button.dataset.job = 'a "b" \\c'; button.textContent = 'Go';
					button.addEventListener('click', () => { out.textContent = 'Went to ' + field.value; });
					field.addEventListener('keydown', (e) => { if (e.ctrlKey && e.key === 'k') out.textContent = 'Control'; if (e.key === '/') e.preventDefault(); });
					root.append(field, button, out);
				}
			});`,
	})
	p := Open(t, Options{Dark: true, Size: Phone, Touch: true})
	p.Visit(url)
	p.Type(TestID("field"), "n/ew/ <b>")
	p.Click(TestID("button", "data-job", `a "b" \c`))
	p.SeeText(TestID("out"), "went to", "new <b>")
	p.Click(TestID("field"))
	p.PressControl("k")
	p.SeeText(TestID("out"), "Control")
	p.Gone(TestID("nothing"))
	if got := Eval[string](p, `matchMedia('(prefers-color-scheme: dark)').matches + ' ' + innerWidth + ' ' + focused().dataset.testid`); got != "true 390 field" {
		t.Errorf("got %s", got)
	}
	if w := p.Work(); w.Page <= 0 || w.All <= 0 {
		t.Errorf("work %+v", w)
	}
	if list := p.Requests(); len(list) < 2 || list[0] != "GET "+url+"/" {
		t.Errorf("requests %q", list)
	}
}

// An element that is replaced under the pointer was clicked if its successor was; one that
// the page kept the click from was not.
func TestClickOnWhatIsReplaced(t *testing.T) {
	url := serve(t, map[string]string{
		"/": head + `<script src="page.js" defer></script></head><body><main><button>Go</button></main><output></output></body>`,
		"/page.js": `
			const out = document.querySelector('output');
			let [clicks, held] = [0, 0];
			const put = () => {
				const fresh = document.createElement('button');
				fresh.textContent = 'Go';
				fresh.addEventListener('click', () => { out.textContent = ++clicks + ' clicks, ' + held + ' held'; });
				fresh.scrollIntoView = () => setTimeout(put); // right after it was looked at
				document.querySelector('button').replaceWith(fresh);
			};
			put();
			document.querySelector('main').addEventListener('click', (e) => { if (held < 2) { held++; e.stopPropagation(); } }, {capture: true});`,
	})
	p := Open(t, Options{})
	p.Visit(url)
	p.Click("button")
	p.SeeText("output", "1 clicks, 2 held")
}

// recorder is a test that only notes how it ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper()      {}
func (r *recorder) Skip(...any)  { r.ended = "skipped" }
func (r *recorder) Fatal(...any) { r.ended = "failed" }

// What is missing is a reason to skip a test, but not where everything must be there.
func TestLeave(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped", "false": "skipped", "true": "failed"} {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		leave(r, os.ErrNotExist)
		if r.ended != want {
			t.Errorf("CI=%q: %s, want %s", ci, r.ended, want)
		}
	}
}
