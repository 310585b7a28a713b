package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// given reads "key=text" pairs.
func given(pairs ...string) []Given {
	var list []Given
	for _, pair := range pairs {
		key, text, _ := strings.Cut(pair, "=")
		list = append(list, Given{key, text})
	}
	return list
}

// What is right has the canonical form and the zone that a job would have.
func TestTry(t *testing.T) {
	for name, c := range map[string]struct {
		given           []Given
		text, canonical string
		zone            string
		warnings        []string
	}{
		"five fields":         {given("schedule=*/30  2 * * mon-fri"), "*/30 2 * * mon-fri", "0 0,30 2 * * 1-5 * follows-clock", "UTC", nil},
		"six fields":          {given("schedule=0 9 24 12 * 2030"), "0 9 24 12 * 2030", "0 0 9 24 12 * 2030", "UTC", nil},
		"seven fields":        {given("schedule=15 0 9 24 12 * 2030"), "15 0 9 24 12 * 2030", "15 0 9 24 12 * 2030", "UTC", nil},
		"a macro":             {given("schedule=@daily", "timezone=Europe/Berlin"), "@daily", "0 0 0 * * * *", "Europe/Berlin", nil},
		"every":               {given("schedule=@every 90s"), "@every 90s", "@every 1m30s", "UTC", nil},
		"at the start":        {given("schedule=@reboot"), "@reboot", "@reboot", "UTC", nil},
		"the map form":        {given("hour=2", "minute=30", "dayOfWeek=sat,sun"), "30 2 * * sat,sun", "0 30 2 * * 0,6 *", "UTC", nil},
		"the year of the map": {given("year=2030", "dayOfMonth=L"), "* * L * * 2030", "0 * * L * * 2030", "UTC", nil},
		"a zone beats utc":    {given("schedule=@daily", "utc=no", "timezone=Asia/Tokyo"), "@daily", "0 0 0 * * * *", "Asia/Tokyo", nil},
		"the machine's zone":  {given("schedule=@daily", "utc=off"), "@daily", "0 0 0 * * * *", "Europe/Paris", nil},
		"either day":          {given("schedule=0 0 13 * 5", "dayMatch=or"), "0 0 13 * 5", "0 0 0 13 * 5 * either-day", "UTC", nil},
		"both days":           {given("schedule=0 0 13 * 5"), "0 0 13 * 5", "0 0 0 13 * 5 *", "UTC", []string{"both restricted"}},
		"no such date":        {given("schedule=0 0 30 2 *"), "0 0 30 2 *", "0 0 0 30 2 * *", "UTC", []string{"never fires"}},
		"a zone from a copy":  {given("schedule=@daily", "timezone=US/Eastern"), "@daily", "0 0 0 * * * *", "US/Eastern", []string{"the zone files of this machine lack"}},
	} {
		t.Run(name, func(t *testing.T) {
			job, diags := Try(c.given, testHost{zone: "Europe/Paris"})
			if job == nil {
				t.Fatal(diags)
			}
			if job.ScheduleText != c.text || job.Schedule.Canonical() != c.canonical || job.Timezone != c.zone || job.Location.String() != c.zone {
				t.Errorf("%q, %q in %q (%v)", job.ScheduleText, job.Schedule.Canonical(), job.Timezone, job.Location)
			}
			warnings := diags.Warnings()
			if len(warnings) != len(c.warnings) {
				t.Errorf("warnings %q", warnings.Reasons())
			}
			for _, want := range c.warnings {
				if !strings.Contains(warnings.Reasons(), want) {
					t.Errorf("warnings %q, want %q", warnings.Reasons(), want)
				}
			}
		})
	}
}

// What is wrong is named with its key, the place in its text and what would be right.
func TestTryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		given  []Given
		key    string
		column int
		want   []string // in the reasons
	}{
		"nothing":              {nil, "", 0, []string{"no schedule is given", `"0 3 * * *"`}},
		"an empty schedule":    {given("schedule="), "schedule", 1, []string{"empty", "write five fields"}},
		"a value out of range": {given("schedule=0 61 * * *"), "schedule", 3, []string{`hour "61"`, "0 to 23"}},
		"too few fields":       {given("schedule=0 3 * *"), "schedule", 1, []string{"4 fields instead of 5, 6 or 7"}},
		"a step too wide":      {given("schedule=*/60 * * * *"), "schedule", 1, []string{`minute "*/60"`}},
		"no such macro":        {given("schedule=@dayly"), "schedule", 1, []string{`write "@daily"`}},
		"no duration":          {given("schedule=@every 90"), "schedule", 8, []string{`write "90s"`}},
		"seconds in front":     {given("schedule=30 0 12 * * mon"), "schedule", 13, []string{`write "30 0 12 * * mon *"`}},
		"too long":             {given("schedule=" + strings.Repeat("1,", 3000) + "1 * * * *"), "schedule", 1, []string{"longer than 4096 bytes"}},
		"quotes":               {given(`schedule="0 3 * * *"`), "schedule", 1, []string{`write "0 3 * * *"`}},
		"a field of the map":   {given("minute=0", "hour=25"), "hour", 1, []string{`hour "25"`}},
		"two values":           {given("minute=0 30"), "minute", 1, []string{"separate several values with commas: 0,30"}},
		"a blank field":        {given("minute=", "hour=1"), "minute", 1, []string{"minute is blank"}},
		"both forms":           {given("schedule=@daily", "minute=5"), "minute", 1, []string{"keep either"}},
		"a key twice":          {given("schedule=@daily", "schedule=@hourly"), "schedule", 1, []string{"given twice"}},
		"a field twice":        {given("minute=1", "minute=2"), "minute", 1, []string{"given twice"}},
		"no such zone":         {given("schedule=@daily", "timezone=Europe/Berln"), "timezone", 1, []string{"did you mean Europe/Berlin?"}},
		"a path as zone":       {given("schedule=@daily", "timezone=../../etc/passwd"), "timezone", 1, []string{"unknown time zone"}},
		"no zone":              {given("schedule=@daily", "timezone="), "timezone", 1, []string{"unknown time zone"}},
		"no boolean":           {given("schedule=@daily", "utc=maybe"), "utc", 1, []string{`not "maybe"`}},
		"no rule":              {given("schedule=@daily", "dayMatch=xor"), "dayMatch", 1, []string{"and or or", `"xor"`}},
		"a misspelt key":       {given("shedule=@daily"), "", 0, []string{"did you mean schedule?"}},
		"a key of a job":       {given("schedule=@daily", "command=true"), "", 0, []string{`there is no "command" of a schedule`}},
		"several":              {given("schedule=61 * * * *", "timezone=Mars"), "timezone", 1, []string{`minute "61"`, `unknown time zone "Mars"`}},
	} {
		t.Run(name, func(t *testing.T) {
			job, diags := Try(c.given, testHost{})
			if job != nil || !diags.HasErrors() {
				t.Fatalf("accepted: %+v", job)
			}
			for _, want := range c.want {
				if !strings.Contains(diags.Reasons(), want) {
					t.Errorf("%q, want %q", diags.Reasons(), want)
				}
			}
			if !slices.ContainsFunc(diags, func(d Diagnostic) bool { return d.File == c.key && d.Column == c.column }) {
				t.Errorf("want a problem of %q at %d: %+v", c.key, c.column, diags)
			}
		})
	}
}

// A schedule by itself is read as one in a file is.
func TestTryAgreesWithLoad(t *testing.T) {
	for _, schedule := range []string{
		"* * * * *", "*/5 9-17 * * mon-fri", "0 0 1,15,L * *", "0 0 13 * 5", "0 0 30 2 *", "5 4 * * 5#2 2027", "*/10 * * * * * *",
		"@hourly", "@every 2h", "@reboot", "61 * * * *", "0 0 * * fri-mon", "@ daily", "a b c d e", "0 0 32 * *", "* * * * * *",
	} {
		for _, zone := range []string{"UTC", "America/New_York", "Nowhere/Land"} {
			text := "jobs:\n  - name: a\n    command: b\n    schedule: '" + schedule + "'\n    timezone: " + zone + "\n"
			cfg, loaded := Load(Sources{Inline: []Inline{{Name: "a.yaml", Text: text}}, Host: testHost{}})
			job, tried := Try(given("schedule="+schedule, "timezone="+zone), testHost{})
			if (cfg == nil) != (job == nil) || !slices.Equal(messages(loaded), messages(tried)) {
				t.Errorf("%q in %s: %q, and in a file %q", schedule, zone, messages(tried), messages(loaded))
				continue
			}
			from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			if job != nil && !job.Schedule.Next(from, job.Location).Equal(cfg.Jobs[0].Schedule.Next(from, cfg.Jobs[0].Location)) {
				t.Errorf("%q in %s fires at another instant", schedule, zone)
			}
		}
	}
}

func messages(diags Diagnostics) []string {
	var list []string
	for _, d := range diags {
		list = append(list, string(d.Severity)+" "+d.Reason())
	}
	slices.Sort(list)
	return list
}

// FuzzTry: whatever is typed, there is either a schedule or a reason.
func FuzzTry(f *testing.F) {
	f.Add("schedule", "*/5 * * * *", "timezone", "Europe/Berlin")
	f.Add("minute", "0 30", "utc", "no")
	f.Add("hour", "25", "dayMatch", "or")
	f.Add("schedule", "@every 90", "shedule", "\xff")
	f.Fuzz(func(t *testing.T, key1, text1, key2, text2 string) {
		job, diags := Try([]Given{{key1, text1}, {key2, text2}}, testHost{})
		if (job == nil) != diags.HasErrors() {
			t.Fatalf("%v, %v", job, diags)
		}
		if job != nil && (job.Schedule == nil || job.Location == nil || job.Schedule.Canonical() == "") {
			t.Errorf("%+v", job)
		}
		for _, d := range diags {
			if d.Message == "" || len(d.Reason()) > 2000 {
				t.Errorf("%q: %d bytes", d.Message, len(d.Reason()))
			}
		}
	})
}
