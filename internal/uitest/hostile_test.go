package uitest

import (
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// What jobs are called and print is text, whatever it looks like: none of it runs, becomes
// an element, or turns the writing around it.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const attack = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`
	names := []string{attack, `"quotes" & 'more' <b>bold</b>`, `]]>--></textarea></title>`, `שלום עולם`, `${7*7} {{7*7}} %s %n`, `javascript:document.title='owned'`}
	var jobs []testcluster.Job
	for _, name := range names {
		jobs = append(jobs, testcluster.Job{Name: name, Schedule: never, Command: "# " + attack + "\nexit 1"})
	}
	g := newGate(t)
	jobs = append(jobs, testcluster.Job{Name: "print", Schedule: never, More: "captureStdout: true", Command: `
		printf '%s\n' "` + strings.ReplaceAll(attack, `"`, `\"`) + `"
		printf '\033[31mred\033[0m \033[1mbold\033[0m \033]0;title\007 \033[2J\033[99999;99999Hmoved\n'
		printf 'from \342\200\256right to left\342\200\254 back\n'
		printf 'zero\000byte bad \377 byte\rreturn\n'
		printf '\033[38;5;208morange\033[0m\033[4munder\033[24m\n'
		printf '\033]8;;javascript:alert(4)\033\\a link\033]8;;\033\\ that is none\n'
		printf 'end of it\n'; ` + g.wait()})
	n := alone(t, jobs...)
	p := open(t, n, browser.Options{})
	unharmed := func(where string) {
		t.Helper()
		if got := browser.Eval[string](p, `document.title + ' ' + all('img, b, iframe, object, embed, textarea').length + ' ' + all('script').filter((s) => !s.src).length`); strings.Contains(got, "owned") || !strings.HasSuffix(got, " 0 0") {
			t.Errorf("%s: title and foreign elements: %s", where, got)
		}
	}
	for _, name := range names {
		p.SeeText(row(name), name)
	}
	unharmed("the table")
	for _, name := range names {
		p.Click(row(name))
		p.SeeText(drawer, name)
		p.Await("the address names it", "decodeURIComponent(location.hash) === "+browser.Quote("#job/"+name))
		p.Press("\x1b")
		p.Gone(drawer)
		p.Type(filterBox, name)
		p.See(row(name))
		p.Type(filterBox, " ")
	}
	unharmed("the drawer and the filter")

	p.Click(row("print"))
	p.Click(button(drawer, "run-button"))
	p.SeeText(logView, attack, "red bold", "moved", "right to left", "end of it", "orange", "a link that is none")
	unharmed("the log")
	shown := p.Text(logView)
	for _, left := range []string{"[31m", "[0m", "[2J", "\x1b", "[38;5;208m", "8;;", "alert(4)"} {
		if strings.Contains(shown, left) {
			t.Errorf("the log shows %q of an escape sequence: %q", left, shown)
		}
	}
	if links := browser.Eval[int](p, `all('[data-testid=log-view] a[href]').length`); links > 0 {
		t.Errorf("the log has %d links", links)
	}
	// Colours are shown, by classes or by style, on the words that have them.
	p.Await("red is not the colour of the rest", `(() => {
		const find = (word) => all('[data-testid=log-view] *').findLast((e) => e.textContent.trim() === word);
		const red = find('red'), plain = one('[data-testid=log-view]');
		return red && getComputedStyle(red).color !== getComputedStyle(plain).color;
	})()`)
	// The line with the mark for the other direction ends within itself.
	p.Await("the lines are isolated", `all('[data-testid=log-view] *').some((e) => e.textContent.includes('right to left') && (e.localName === 'bdi' || ['isolate', 'plaintext', 'isolate-override'].includes(getComputedStyle(e).unicodeBidi)))`)
	g.open(t)
	testcluster.Eventually(t, "the end", lastOutcome(n, "print", "success"))
	for _, name := range names {
		p.Type(filterBox, name)
		p.Click(button(row(name), "run-button"))
		p.SeeText(row(name), "failed")
	}
	unharmed("failures")
}
