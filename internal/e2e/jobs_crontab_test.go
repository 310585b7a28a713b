package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// crontabCase reads a crontab of the reports that people sent.
func crontabCase(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../agent/config/testdata/cases", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Lines of crontabs do what cron does with them, percent signs, backslashes, quotes and
// an unfinished last line included. They capture nothing: what they print goes where the
// agent's own output does.
func TestLinesOfCrontabs(t *testing.T) {
	t.Parallel()
	a := newAlone(t, testcluster.Options{})
	a.WriteFile("CONF-07.crontab", crontabCase(t, "CONF-07.crontab"))
	percent := strings.Split(crontabCase(t, "CONF-05.crontab"), "\n")
	for i, line := range percent {
		if regexp.MustCompile(`[^\\]%`).MatchString(line) { // refused, see below
			percent[i] = "# " + line
		}
	}
	a.WriteFile("CONF-05.crontab", strings.Join(percent, "\n"))
	a.begin()
	jobs, err := a.Client.Jobs(a.context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, j := range jobs {
		if strings.Contains(j.Name, ".crontab:") {
			names = append(names, j.Name)
		}
	}
	if want := []string{"CONF-05.crontab:2", "CONF-05.crontab:8", "CONF-07.crontab:5", "CONF-07.crontab:7", "CONF-07.crontab:9",
		"CONF-07.crontab:11", "CONF-07.crontab:13", "CONF-07.crontab:14"}; !slices.Equal(names, want) {
		t.Fatalf("jobs %q, want %q", names, want)
	}
	for job, prints := range map[string]string{
		"CONF-05.crontab:2":  `(?m)^\d{4}-\d\d-\d\d$`,
		"CONF-05.crontab:8":  `(?m)^a\tb$`,
		"CONF-07.crontab:5":  regexp.QuoteMeta("[1][two words ][x # not a comment][]"),
		"CONF-07.crontab:9":  `(?m)^six in Kolkata$`,
		"CONF-07.crontab:14": regexp.QuoteMeta("[last]"),
	} {
		if r := a.run(job); r.Outcome != api.OutcomeSuccess {
			t.Errorf("%s: %+v", job, r)
		}
		testcluster.Eventually(t, "what "+job+" prints", func() error {
			if !regexp.MustCompile(prints).MatchString(a.Log()) {
				return errors.New("no " + prints)
			}
			return nil
		})
	}
	if r := a.run("CONF-07.crontab:7"); exitCode(r) != "127" { // there is no ./run, whatever follows it
		t.Errorf("%+v", r)
	}

	// As a whole, the file with bare percent signs is refused, and the running set stays.
	a.WriteFile("CONF-05.crontab", crontabCase(t, "CONF-05.crontab"))
	status, err := a.Client.Reload(a.context())
	if err != nil || status.State != api.ConfigFailed || len(status.Errors) != 2 || status.Errors[0].Line != 4 || status.Errors[1].Line != 6 {
		t.Errorf("reload: %+v, %v", status, err)
	}
	a.run("CONF-05.crontab:8")
}

// A line that restricts both day fields fires on either, and all who tell of its firings
// tell the same.
func TestDaysOfCrontabs(t *testing.T) {
	t.Parallel()
	const job = "CRON-03.crontab:2"
	a := newAlone(t, testcluster.Options{})
	a.WriteFile("CRON-03.crontab", crontabCase(t, "CRON-03.crontab"))
	a.begin()
	if !strings.Contains(a.Log(), "both day fields are restricted") {
		t.Errorf("nobody is told:\n%s", a.Log())
	}
	want := []string{"2026-05-01T16:00Z", "2026-05-08T16:00Z", "2026-05-15T16:00Z", "2026-05-22T16:00Z", "2026-05-29T16:00Z", "2026-06-01T16:00Z"}
	from := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "CRON-03.crontab")
	write(t, file, crontabCase(t, "CRON-03.crontab"), 0o600)
	if got := firings(t, file, job, from.Format(time.RFC3339), len(want)); !slices.Equal(got, want) {
		t.Errorf("the program says %v, want %v", got, want)
	}
	next, err := a.Client.Next(a.context(), job, len(want), from)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range next.Firings {
		got = append(got, f.At.UTC().Format("2006-01-02T15:04Z"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the agent says %v, want %v", got, want)
	}
	// And so does what it waits for now.
	next, err = a.Client.Next(a.context(), job, 1, time.Time{})
	j, jobErr := a.Client.Job(a.context(), job)
	if err != nil || jobErr != nil || len(next.Firings) != 1 || j.ScheduledIn == nil {
		t.Fatalf("%+v, %+v, %v, %v", next, j, err, jobErr)
	}
	if at := time.Now().Add(time.Duration(*j.ScheduledIn * float64(time.Second))); at.Sub(next.Firings[0].At.Time).Abs() > time.Hour {
		t.Errorf("it waits for %v, and would fire at %v", at, next.Firings[0].At)
	}
}
