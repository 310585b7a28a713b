package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

const zonedJobs = `
jobs:
  - name: nightly
    command: "true"
    schedule: "30 2 * * *"
    timezone: Europe/Berlin
  - name: off
    command: "true"
    schedule: "@daily"
    enabled: false
  - name: boot
    command: "true"
    schedule: "@reboot"
  - name: never
    command: "true"
    schedule: "0 0 30 2 *"
`

func TestNextListsFirings(t *testing.T) {
	a := startAgent(t, zonedJobs, "")
	ctx := t.Context()
	// The clocks of the zone go forward at 02:00 on 29 March 2026.
	next, err := a.client.Next(ctx, "nightly", 3, time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if next.Name != "nightly" || !next.Enabled || next.Schedule != "30 2 * * *" || next.Timezone != "Europe/Berlin" || len(next.Firings) != 3 {
		t.Fatalf("got %+v", next)
	}
	for i, want := range []string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"} {
		f := next.Firings[i]
		if f.Local != want || f.At.Format(time.RFC3339) != mustUTC(t, want) || (f.Note != "") != (i == 1) {
			t.Errorf("firing %d: %+v", i, f)
		}
	}
	before := time.Now()
	if next, err := a.client.Next(ctx, "off", 1, time.Time{}); err != nil || next.Enabled || len(next.Firings) != 1 || !next.Firings[0].At.After(before) {
		t.Errorf("a disabled job: %+v, %v", next, err)
	}
	for _, job := range []string{"boot", "never"} {
		if _, body := a.request("GET", "/jobs/"+job+"/next", nil); body != `{"name":"`+job+`","enabled":true,"schedule":"`+
			map[string]string{"boot": "@reboot", "never": "0 0 30 2 *"}[job]+`","timezone":"UTC","firings":[],"concurrencyPolicy":"Allow","dayMatch":"and"}` {
			t.Errorf("%s: %s", job, body)
		}
	}
	if next, err := a.client.Next(ctx, "nightly", mostNext, time.Time{}); err != nil || len(next.Firings) != mostNext {
		t.Errorf("%d firings, %v", len(next.Firings), err)
	}
	for _, query := range []string{"n=0", "n=1001", "n=-1", "n=x", "n=1e3", "from=now", "n=5&from=2026-01-01"} {
		if resp, body := a.request("GET", "/jobs/nightly/next?"+query, nil); resp.StatusCode != 400 || body == "" {
			t.Errorf("%s: %d %q", query, resp.StatusCode, body)
		}
	}
	if resp, _ := a.request("GET", "/jobs/nobody/next", nil); resp.StatusCode != 404 {
		t.Errorf("an unknown job: %d", resp.StatusCode)
	}
}

// A schedule that no job has is read, warned about and compared with those of the jobs.
func TestPreview(t *testing.T) {
	var jobs strings.Builder
	jobs.WriteString(zonedJobs)
	for i := range crowd {
		fmt.Fprintf(&jobs, "  - name: crowd-%d\n    command: 'true'\n    schedule: '7 7 7 7 *'\n", i)
	}
	a := startAgent(t, jobs.String(), "")
	for name, c := range map[string]struct {
		query    string
		local    []string // the firings in the zone
		zone     string
		warnings []string // parts of them
		jobs     []string
	}{
		"a time in a gap": {
			"schedule=30+2+*+*+*&timezone=Europe/Berlin&n=2&from=2026-03-28T12:00:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}, "Europe/Berlin",
			[]string{"when the clock changes on 2026-03-29: 02:30 does not exist", "when the clock changes on 2026-10-25: 02:30 comes twice"}, []string{"nightly"},
		},
		"the map form": {"minute=30&hour=2&n=1&from=2026-03-28T12:00:00Z", []string{"2026-03-29T02:30:00Z"}, "UTC", nil, nil},
		"a crowd":      {"schedule=7+7+*+7+*&from=2026-07-06T00:00:00Z&n=1", []string{"2026-07-06T07:07:00Z"}, "UTC", []string{"10 jobs start at 2026-07-07T07:07:00Z as well"}, nil},
		"an impossible date": {
			"schedule=0+0+0+30+2+*+*", nil, "UTC", []string{"it never fires"}, []string{"never"},
		},
		"both days":        {"schedule=0+0+13+*+5&n=1&from=2026-01-01T00:00:00Z", []string{"2026-02-13T00:00:00Z"}, "UTC", []string{"both restricted"}, nil},
		"either day":       {"schedule=0+0+13+*+5&dayMatch=or&n=2&from=2026-01-01T00:00:00Z", []string{"2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"}, "UTC", nil, nil},
		"a disabled job's": {"schedule=@midnight&n=1&from=2026-01-01T00:00:00Z", []string{"2026-01-02T00:00:00Z"}, "UTC", nil, []string{"off"}},
		"at the start":     {"schedule=@reboot", nil, "UTC", nil, []string{"boot"}},
	} {
		t.Run(name, func(t *testing.T) {
			query, err := url.ParseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.client.SchedulePreview(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			var local []string
			for _, f := range got.Firings {
				local = append(local, f.Local)
			}
			if !slices.Equal(local, c.local) || string(got.Timezone) != c.zone || got.JobsTotal != len(c.jobs) || !slices.Equal(got.Jobs, c.jobs) && len(c.jobs) > 0 {
				t.Errorf("got %+v", got)
			}
			for i, want := range c.warnings {
				if len(got.Warnings) != len(c.warnings) || !strings.Contains(got.Warnings[i].Message, want) {
					t.Errorf("warnings %+v, want %q", got.Warnings, c.warnings)
				}
			}
			if len(c.warnings) == 0 && len(got.Warnings) > 0 {
				t.Errorf("warnings %+v", got.Warnings)
			}
		})
	}
	if got, err := a.client.SchedulePreview(t.Context(), url.Values{"schedule": {"* * * * *"}, "n": {strconv.Itoa(mostNext)}}); err != nil || len(got.Firings) != mostNext {
		t.Errorf("%d firings, %v", len(got.Firings), err)
	}
	before := time.Now()
	if got, err := a.client.SchedulePreview(t.Context(), url.Values{"schedule": {"@hourly"}}); err != nil || len(got.Firings) != defaultNext || !got.Firings[0].At.After(before) {
		t.Errorf("%d firings, %v", len(got.Firings), err)
	}
}

// A schedule that no job could have is refused with the key, the place and the remedy.
func TestPreviewRefuses(t *testing.T) {
	a := startAgent(t, zonedJobs, "")
	resp, body := a.request("GET", "/schedule/next?schedule=0+61+*+*+*&timezone=Europe/Berln", asJSON)
	var got api.ScheduleError
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != 400 {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	want := []api.Problem{
		{Key: "timezone", Column: 1, Message: `unknown time zone "Europe/Berln"`, Hint: "did you mean Europe/Berlin?"},
		{Key: "schedule", Column: 3, Message: `the schedule "0 61 * * *" cannot be read: hour "61": out of range, values are 0 to 23`},
	}
	if len(got.Problems) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for _, p := range want {
		if !slices.Contains(got.Problems, p) || !strings.Contains(got.Error, p.Message) || !strings.Contains(got.Error, p.Hint) {
			t.Errorf("got %+v, want %+v", got, p)
		}
	}
	for query, want := range map[string]string{
		"":                                  "no schedule is given",
		"schedule=@daily&n=1001":            "n must be a number from 1 to 1000",
		"schedule=@daily&from=now":          "from must be an instant",
		"schedule=@daily&shedule=@daily":    "did you mean schedule?",
		"schedule=@daily&schedule=@hourly":  "schedule is given twice",
		"schedule=@daily&minute=5":          "keep either the schedule or its single fields",
		"schedule=@daily;n=5":               "the query is not encoded as it must be",
		"a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q": "more than 16 parameters",
		"schedule=" + strings.Repeat("1,", 3000) + "1+*+*+*+*": "longer than 4096 bytes",
	} {
		if resp, body := a.request("GET", "/schedule/next?"+query, nil); resp.StatusCode != 400 || !strings.Contains(body, want) {
			t.Errorf("%.60s: %d %.200q, want %q", query, resp.StatusCode, body, want)
		}
	}
}

func mustUTC(t *testing.T, text string) string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC().Format(time.RFC3339)
}

func TestOneJobIsItsEntryOfAll(t *testing.T) {
	a := startAgent(t, someJobs, "")
	all, err := a.client.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range all {
		one, err := a.client.Job(t.Context(), want.Name)
		if err != nil || one.Name != want.Name || one.Command != want.Command || one.Enabled != want.Enabled {
			t.Errorf("%s: %+v, %v", want.Name, one, err)
		}
	}
	if resp, body := a.request("GET", "/jobs/nobody", nil); resp.StatusCode != 404 || body != "404: Not Found" {
		t.Errorf("an unknown job: %d %q", resp.StatusCode, body)
	}
}
