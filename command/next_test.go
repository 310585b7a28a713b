package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

const zonedJobs = `jobs:
  - name: nightly
    command: "true"
    schedule: "30 2 * * *"
    timezone: Europe/Berlin
  - name: hourly
    command: "true"
    schedule: "@hourly"
  - name: off
    command: "true"
    schedule: "@daily"
    enabled: false
  - name: boot
    command: "true"
    schedule: "@reboot"
`

// The clocks of the zone go forward at 02:00 on 29 March 2026.
func TestNext(t *testing.T) {
	dir := configDir(t, map[string]string{"jobs.yaml": zonedJobs})
	r := run(t, nil, "next", dir, "-job=nightly", "-from=2026-03-28", "-n=3")
	r.expect(t, exitOK, []string{
		"2026-03-28 01:30:00Z  Sat 2026-03-28 02:30:00 +01:00  Europe/Berlin  nightly",
		"2026-03-29 01:00:00Z  Sun 2026-03-29 03:00:00 +02:00  Europe/Berlin  nightly",
		"2026-03-30 00:30:00Z  Mon 2026-03-30 02:30:00 +02:00  Europe/Berlin  nightly",
	}, nil)
	var moved string
	for line := range strings.Lines(r.out) {
		if strings.Contains(line, "03-29 03:00") {
			_, moved, _ = strings.Cut(line, "nightly")
		}
	}
	if note := strings.TrimSpace(moved); note == "" || note == "-" {
		t.Errorf("the moved firing has no note:\n%s", r.out)
	}

	r = run(t, nil, "next", "-config-file", filepath.Join(dir, "jobs.yaml"), "-format=json", "-n=4", "-from=2026-02-28T23:30:00Z")
	r.expect(t, exitOK, []string{"["}, nil)
	var list []firing
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range list {
		got = append(got, f.Job+" "+f.At.Format(time.RFC3339))
	}
	want := "hourly 2026-03-01T00:00:00Z, hourly 2026-03-01T01:00:00Z, nightly 2026-03-01T01:30:00Z, hourly 2026-03-01T02:00:00Z"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if list[2].Local != "2026-03-01T02:30:00+01:00" || list[2].Zone != "Europe/Berlin" || list[2].Note != "" {
		t.Errorf("got %+v", list[2])
	}
}

// Many jobs take another way through the code than few.
func TestNextOfMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("jobs:\n")
	for i := range 60 {
		b.WriteString("  - name: job-" + string(rune('A'+i%26)) + string(rune('a'+i/26)) + "\n    command: \"true\"\n    schedule: \"")
		b.WriteString(time.Date(0, 1, 1, 0, 59-i, 0, 0, time.UTC).Format("4") + " * * * *\"\n")
	}
	dir := configDir(t, map[string]string{"jobs.yaml": b.String()})
	r := run(t, nil, "next", dir, "-n=3", "-format=json")
	r.expect(t, exitOK, []string{"["}, nil)
	var list []firing
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != 3 {
		t.Fatalf("%d firings (%v)", len(list), err)
	}
	for i, f := range list {
		if want := noon.Add(time.Duration(i+1) * time.Minute); !f.At.Equal(want) {
			t.Errorf("firing %d is at %v, want %v", i, f.At, want)
		}
	}
}

func TestNextNothing(t *testing.T) {
	dir := configDir(t, map[string]string{"jobs.yaml": zonedJobs})
	run(t, nil, "next", dir, "-job=boot").expect(t, exitOK, []string{"Nothing fires.\n"}, nil)
	run(t, nil, "next", dir, "-job=off", "-n=1").expect(t, exitOK, []string{"2026-03-02 00:00:00Z"}, nil)
	if r := run(t, nil, "next", dir, "-job=boot", "-format=json"); r.out != "[]\n" {
		t.Errorf("nothing is %q", r.out)
	}
}

func TestNextMisuse(t *testing.T) {
	dir := configDir(t, map[string]string{"jobs.yaml": zonedJobs})
	run(t, nil, "next", dir, "-n=0").expect(t, exitMisuse, nil, []string{"-n=0: write 1 to 10000"})
	run(t, nil, "next", dir, "-from=tomorrow").expect(t, exitMisuse, nil, []string{"write it like 2026-03-29T01:30:00Z"})
	run(t, nil, "next", dir, "-job=hourl").expect(t, exitFailed, nil, []string{`no job "hourl", did you mean "hourly"?`})
	run(t, nil, "next").expect(t, exitFailed, nil, []string{"there is no configuration"})
	bad := configDir(t, map[string]string{"jobs.yaml": badJobs})
	run(t, nil, "next", bad).expect(t, exitFailed, nil, []string{":3:5: error: ", "error: the configuration is not valid: "})
}

// A schedule is tried without a configuration, or beside one.
func TestNextTries(t *testing.T) {
	r := run(t, nil, "next", "-schedule", "30 2 * * *", "-timezone=Europe/Berlin", "-from=2026-03-28", "-n=2")
	r.expect(t, exitOK, []string{
		"2026-03-28 01:30:00Z  Sat 2026-03-28 02:30:00 +01:00  Europe/Berlin",
		"2026-03-29 01:00:00Z  Sun 2026-03-29 03:00:00 +02:00  Europe/Berlin  02:30 does not exist",
	}, []string{"warning: when the clock changes on 2026-03-29: 02:30 does not exist", "warning: when the clock changes on 2026-10-25: 02:30 comes twice"})

	dir := configDir(t, map[string]string{"jobs.yaml": zonedJobs})
	r = run(t, nil, "next", dir, "-schedule=0 * * * *", "-n=1")
	r.expect(t, exitOK, []string{"2026-03-01 13:00:00Z", "The same schedule: hourly.\n"}, nil)
	r = run(t, nil, "next", "-schedule=0 0 13 * 5", "-n=1", "-day-match=or", "-format=json", "-from=2026-01-01")
	var preview api.SchedulePreview
	if err := json.Unmarshal([]byte(r.out), &preview); err != nil || r.code != exitOK {
		t.Fatalf("%v: %s", err, r.out)
	}
	if len(preview.Firings) != 1 || preview.Firings[0].Local != "2026-01-02T00:00:00Z" || preview.Timezone != "UTC" || preview.Canonical != "0 0 0 13 * 5 * either-day" {
		t.Errorf("got %+v", preview)
	}
	run(t, nil, "next", "-schedule=@reboot").expect(t, exitOK, []string{"Nothing fires.\n"}, nil)
	run(t, nil, "next", "-schedule=0 0 13 * 5").expect(t, exitOK, []string{"2026-03-13 00:00:00Z"}, []string{"warning: day of month and day of week are both restricted"})
}

func TestNextTriesInVain(t *testing.T) {
	run(t, nil, "next", "-schedule=0 61 * * *").expect(t, exitFailed, nil, []string{
		`schedule:1:3: error: the schedule "0 61 * * *" cannot be read: hour "61": out of range`, "1 | 0 61 * * *", "  |   ^",
	})
	run(t, nil, "next", "-schedule=@daily", "-timezone=Europe/Berln").expect(t, exitFailed, nil, []string{`unknown time zone "Europe/Berln"`, "hint: did you mean Europe/Berlin?"})
	run(t, nil, "next", "-schedule=@daily", "-schedule=@hourly").expect(t, exitFailed, nil, []string{"schedule is given twice"})
	run(t, nil, "next", "-timezone=Asia/Tokyo").expect(t, exitMisuse, nil, []string{"go with -schedule"})
	run(t, nil, "next", "-schedule=@daily", "-job=hourly").expect(t, exitMisuse, nil, []string{"-job and -schedule exclude each other"})
	bad := configDir(t, map[string]string{"jobs.yaml": badJobs})
	run(t, nil, "next", bad, "-schedule=@daily").expect(t, exitFailed, nil, []string{"error: the configuration is not valid: "})
}
