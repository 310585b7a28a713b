package agent

import (
	"testing"
	"time"
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
	if next, err := a.client.Next(ctx, "off", 1, time.Time{}); err != nil || next.Enabled || len(next.Firings) != 1 || !next.Firings[0].At.After(time.Now()) {
		t.Errorf("a disabled job: %+v, %v", next, err)
	}
	for _, job := range []string{"boot", "never"} {
		if _, body := a.request("GET", "/jobs/"+job+"/next", nil); body != `{"name":"`+job+`","enabled":true,"schedule":"`+
			map[string]string{"boot": "@reboot", "never": "0 0 30 2 *"}[job]+`","timezone":"UTC","firings":[]}` {
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
