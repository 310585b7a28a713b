package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// caseFiles returns the case of that name, and the one of the folder that
// YACRON2_VECTORS names if it has one.
func caseFiles(name string) []string {
	files := []string{filepath.Join(testdata, "cases", name)}
	if dir := os.Getenv("YACRON2_VECTORS"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// TestVectorFiles: what is said about files as people wrote them. Each line is severity,
// line and column, then what the message or the hint must hold.
func TestVectorFiles(t *testing.T) {
	for name, want := range map[string][]string{
		// Schedules that are not YAML.
		"CONF-01-a.yaml": {"error 4:15 put it in quotes, e.g. \"* * * * *\""},
		"CONF-01-b.yaml": {"error 4:15 put it in quotes"},
		"CONF-01-c.yaml": {"error 5:16 remove the quotes inside the value: write \"0 4 * * *\""},
		"CONF-01-d.yaml": {"error 3:1 indent with spaces"},
		// The same key twice.
		"CONF-02-a.yaml": {`error 9:1 the key "jobs" stands here again, it was first given at line 1`},
		"CONF-02-b.yaml": {`error 5:5 the key "command" stands here again, it was first given at line 3`},
		"CONF-02-c.hcl":  {`error 5:5 the first one is in CONF-02-c.hcl:1`},
		"CONF-02-d.yaml": {},
		// Crontabs as they are.
		"CONF-05.crontab": {"error 4:15 a bare % in a command", "error 6:22 write \\% for the character"},
		"CONF-06.crontab": {`warning 4:14 "root" looks like the user column`, `warning 5:14 "root"`,
			"note 6:1 times of a crontab are UTC here", `warning 6:14 "www-data"`},
		"CONF-07.crontab": {},
		"CRON-03.crontab": {"note 2:1 both day fields are restricted: this runs when either matches", "note 2:1 CRON_TZ=Europe/Berlin above"},
		// Reloads.
		"CONF-09-1-good.yaml":   {},
		"CONF-09-2-broken.yaml": {`error 2:71 minute "61"`},
		"CONF-09-3-fixed.yaml":  {},
		"CONF-10-1.yaml":        {},
		"CONF-10-2.yaml":        {},
		// The same name twice.
		"CONF-12.d": {"error 2:12 the first one is in CONF-12.d/10-web.yaml:2"},
		// Shell text in HCL.
		"CONF-13.hcl": {"error 8:28 write $${HOME}", "error 12:40 write %%{http_code}"},
		// Schedules.
		"CRON-06.yaml": {"warning 8:15 it never fires"},
		"CRON-07.yaml": {"error 6:15 minute is blank", `error 12:15 minute is one field, not "0 30"`},
		"CRON-10.yaml": {},
		"TZ-08.yaml":   {},
		"TZ-08-bad.yaml": {
			`error 5:15 unknown time zone "Europe/Madird"`,
		},
	} {
		for _, path := range caseFiles(name) {
			t.Run(name, func(t *testing.T) {
				t.Chdir(filepath.Dir(path))
				sources := Sources{Files: []string{name}, Host: testHost{}}
				if strings.HasSuffix(name, ".d") {
					sources = Sources{Dirs: []string{name}, Host: testHost{}}
				}
				cfg, ds := Load(sources)
				if (cfg == nil) != ds.HasErrors() {
					t.Errorf("config is nil: %v", cfg == nil)
				}
				if len(ds) != len(want) {
					t.Fatalf("%d problems, want %d:\n%v", len(ds), len(want), ds)
				}
				for i, d := range ds {
					severity, rest, _ := strings.Cut(want[i], " ")
					place, text, _ := strings.Cut(rest, " ")
					if string(d.Severity) != severity || !strings.HasSuffix(d.Position(), ":"+place) || !strings.Contains(d.Message+" ("+d.Hint+")", text) {
						t.Errorf("got  %v\nwant %s", d, want[i])
					}
				}
			})
		}
	}
}
