package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/report"
)

// loadCase loads one file of testdata/cases.
func loadCase(t *testing.T, name string) (*Config, Diagnostics) {
	t.Helper()
	return Load(Sources{Files: []string{filepath.Join(testdata, "cases", name)}, Host: testHost{}})
}

func mustLoadCase(t *testing.T, name string) *Config {
	t.Helper()
	cfg, ds := loadCase(t, name)
	if cfg == nil {
		t.Fatalf("%s: %v", name, ds)
	}
	return cfg
}

func TestMergeKeyOverridden(t *testing.T) {
	j := mustLoadCase(t, "CONF-02-d.yaml").Jobs[0]
	if !j.CaptureStdout || j.ExecutionTimeout != 20*time.Second {
		t.Errorf("%+v", j)
	}
}

// TestCrontabSmallPrint follows variables, quotes, zones and an unfinished last line.
func TestCrontabSmallPrint(t *testing.T) {
	type job struct {
		name, command, zone string
		environment         []scheduler.EnvVar
	}
	abc := []scheduler.EnvVar{{Key: "A", Value: "1"}, {Key: "B", Value: "two words "}, {Key: "C", Value: "x # not a comment"}}
	with := func(base []scheduler.EnvVar, more ...scheduler.EnvVar) []scheduler.EnvVar {
		return append(append([]scheduler.EnvVar(nil), base...), more...)
	}
	late := with(abc, scheduler.EnvVar{Key: "D", Value: "late"})
	kolkata := with(late, scheduler.EnvVar{Key: "CRON_TZ", Value: "Asia/Kolkata"})
	berlin := with(late, scheduler.EnvVar{Key: "CRON_TZ", Value: "Europe/Berlin"})
	mailto := with(berlin, scheduler.EnvVar{Key: "MAILTO"})
	want := []job{
		{"CONF-07.crontab:5", `printf "[%s]" "$A" "$B" "$C" "$D"`, "UTC", abc},
		{"CONF-07.crontab:7", "./run --out=file.json --level=3", "UTC", late},
		{"CONF-07.crontab:9", "echo six in Kolkata", "Asia/Kolkata", kolkata},
		{"CONF-07.crontab:11", "echo six in Berlin", "Europe/Berlin", berlin},
		{"CONF-07.crontab:13", "echo once a day", "Europe/Berlin", mailto},
		{"CONF-07.crontab:14", `printf "[%s]" last`, "Europe/Berlin", mailto},
	}
	var got []job
	cfg := mustLoadCase(t, "CONF-07.crontab")
	for _, j := range cfg.Jobs {
		got = append(got, job{j.Name, j.Command.Line, j.Timezone, j.Environment})
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	if next := cfg.Jobs[2].Schedule.Next(at, cfg.Jobs[2].Location); !next.Equal(at.Add(30 * time.Minute)) {
		t.Errorf("six in Kolkata is %v", next)
	}
}

func TestCrontabShell(t *testing.T) {
	cfg := mustLoad(t, testHost{}, goldenFile{"c.cron", "SHELL=\n@daily a\nSHELL=/bin/bash\n@daily b\nSHELL=/bin/dash\n@daily c\n"})
	var shells []string
	for _, j := range cfg.Jobs {
		shells = append(shells, j.Shell)
	}
	if got := strings.Join(shells, " "); got != "/bin/sh /bin/bash /bin/dash" {
		t.Errorf("shells: %s", got)
	}
}

// TestShellTextInHCL: what a job gets is what a shell user wrote.
func TestShellTextInHCL(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testdata, "cases", "CONF-13.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "job ")
	kept := []string{blocks[0]}
	for _, b := range blocks[1:] {
		if !strings.HasPrefix(b, `"braces"`) && !strings.HasPrefix(b, `"percent"`) {
			kept = append(kept, b)
		}
	}
	cfg := mustLoad(t, testHost{}, goldenFile{"a.hcl", strings.Join(kept, "job ")})
	got := map[string]string{}
	for _, j := range cfg.Jobs {
		got[j.Name] = j.Command.Line
	}
	want := map[string]string{
		"home":    "echo home is $HOME",
		"escaped": "echo home is ${HOME} and %{http_code}",
		"heredoc": "for f in a b; do\n  echo \"${f}\"\ndone\n",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestCasesLoad: whatever else those files are for, they are valid.
func TestCasesLoad(t *testing.T) {
	for name, jobs := range map[string]int{
		"CONF-09-1-good.yaml": 1, "CONF-09-3-fixed.yaml": 2, "CONF-10-1.yaml": 2, "CONF-10-2.yaml": 2, "CRON-03.crontab": 1, "CRON-06.yaml": 3,
		"CRON-10.yaml": 3, "TZ-08.yaml": 2, "API-01-empty.yaml": 1, "API-02.yaml": 3, "REP-01.yaml": 6, "REP-03.yaml": 8, "REP-07.yaml": 4,
		"CLU-16-v1.yaml": 1, "CLU-16-v2.yaml": 2,
	} {
		if cfg := mustLoadCase(t, name); len(cfg.Jobs) != jobs {
			t.Errorf("%s: %d jobs, want %d", name, len(cfg.Jobs), jobs)
		}
	}
	v1, v2 := mustLoadCase(t, "CLU-16-v1.yaml"), mustLoadCase(t, "CLU-16-v2.yaml")
	if v1.JobSetID == v2.JobSetID {
		t.Error("two sets with one id")
	}
}

// TestBrokenReload: an error names job, key and file, for whoever keeps the old set.
func TestBrokenReload(t *testing.T) {
	cfg, ds := loadCase(t, "CONF-09-2-broken.yaml")
	if cfg != nil || len(ds) != 1 || ds[0].Job != "keep-me" || ds[0].Key != "schedule" || !strings.HasSuffix(ds[0].File, "CONF-09-2-broken.yaml") || ds[0].Line != 2 {
		t.Errorf("config %v, diagnostics %+v", cfg, ds)
	}
}

func TestZonesWithoutZoneFiles(t *testing.T) {
	t.Setenv("ZONEINFO", filepath.Join(t.TempDir(), "none"))
	if cfg := mustLoadCase(t, "TZ-08.yaml"); cfg.Jobs[0].Location.String() != "Europe/Madrid" {
		t.Errorf("%+v", cfg.Jobs[0])
	}
}

func TestReports(t *testing.T) {
	text := func(s string) *string { return &s }
	cfg := mustLoad(t, testHost{}, yamlFile(`
defaults:
  onFailure:
    report:
      mail: {from: cron@x, to: " ops@x ", username: u, password: {value: inherited}}
      webhook: {url: {value: "https://h/x"}, headers: {X-B: b, X-A: a}}
jobs:
  - name: all
    command: x
    schedule: "@daily"
    statsd: {prefix: p, host: h, port: 8125}
    onFailure:
      report:
        mail: {from: job@x, to: ops@x, smtpHost: m, smtpPort: 587, starttls: yes, validate_certs: no, html: yes, subject: s, body: "", password: {fromEnvVar: PW}}
        sentry: {dsn: {fromEnvVar: DSN}, fingerprint: [a], level: warning, environment: prod, extra: {n: 5, t: true, s: yes, z: 007}, maxStringLength: 9, body: b}
        shell: {command: [a, b], shell: ""}
        webhook: {url: {fromEnvVar: URL}, method: PUT, contentType: text/plain, headers: {X-B: c}, timeout: 0.5}
    onPermanentFailure: {report: {shell: {command: tell}}}
    onSuccess: {report: {mail: {from: "", to: ops@x}}}
    onMiss: {report: {sentry: {dsn: {value: "https://k@s/1"}}}}
  - name: off
    command: x
    schedule: "@daily"
    onFailure: {report: {mail: {from: "", to: ""}, webhook: {url: {value: ""}}}}
`))
	j := cfg.Jobs[0]
	want := &report.Hooks{
		Mail: &report.Mail{From: "job@x", To: "ops@x", SMTPHost: "m", SMTPPort: 587, StartTLS: true, Username: "u", Password: Secret{FromEnvVar: "PW"}, HTML: true, Subject: text("s"), Body: text("")},
		Sentry: &report.Sentry{DSN: Secret{FromEnvVar: "DSN"}, Body: text("b"), Fingerprint: []string{"a"}, Level: "warning", Environment: "prod",
			Extra: []report.Extra{{Key: "n", Value: int64(5)}, {Key: "s", Value: "yes"}, {Key: "t", Value: true}, {Key: "z", Value: "007"}}, MaxStringLength: 9},
		Shell: &report.Shell{Argv: []string{"a", "b"}},
		Webhook: &report.Webhook{URL: Secret{FromEnvVar: "URL"}, Method: "PUT", ContentType: "text/plain", Headers: []report.Header{{Name: "X-A", Value: "a"}, {Name: "X-B", Value: "c"}},
			Timeout: 500 * time.Millisecond},
	}
	if !reflect.DeepEqual(j.OnFailure, want) {
		t.Errorf("onFailure: %+v %+v %+v %+v", j.OnFailure.Mail, j.OnFailure.Sentry, j.OnFailure.Shell, j.OnFailure.Webhook)
	}
	if want := (&report.Hooks{Shell: &report.Shell{Line: "tell", Shell: "/bin/sh"}}); !reflect.DeepEqual(j.OnPermanentFailure, want) {
		t.Errorf("onPermanentFailure: %+v", j.OnPermanentFailure)
	}
	if j.OnSuccess != nil {
		t.Errorf("a mail without a sender is active: %+v", j.OnSuccess)
	}
	if want := (&report.Hooks{Sentry: &report.Sentry{DSN: Secret{Value: "https://k@s/1"}, Level: "error", MaxStringLength: 8192}}); !reflect.DeepEqual(j.OnMiss, want) {
		t.Errorf("onMiss: %+v", j.OnMiss.Sentry)
	}
	if want := (&report.Statsd{Prefix: "p", Host: "h", Port: 8125}); !reflect.DeepEqual(j.Statsd, want) {
		t.Errorf("statsd: %+v", j.Statsd)
	}
	if cfg.Jobs[1].OnFailure != nil {
		t.Errorf("blank values do not unset inherited ones: %+v", cfg.Jobs[1].OnFailure)
	}
}

func TestLogging(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Logging
	}{
		{"", Logging{Level: "info", Format: "text", Stream: "stderr"}},
		{"logging: {level: warn, format: json, stream: stdout}", Logging{Level: "warn", Format: "json", Stream: "stdout"}},
		{"logging: {file: /x.log, rotation: {maxSizeMB: 2}}", Logging{Level: "info", Format: "text", Stream: "stderr", File: "/x.log", MaxSize: 2 << 20, MaxFiles: 5}},
		{"logging: {version: 1, root: {level: WARNING, handlers: [out]}, handlers: {out: {class: logging.StreamHandler, stream: 'ext://sys.stdout', formatter: f}}, formatters: {f: {format: '%(message)s'}}}",
			Logging{Level: "warn", Format: "text", Stream: "stdout"}},
		{"logging: {version: 1, root: {level: WARNING}, loggers: {yacron2: {level: DEBUG, handlers: [f]}, statsd: {level: ERROR}}, handlers: {f: {class: logging.handlers.RotatingFileHandler, filename: /y.log, maxBytes: 1000, backupCount: 3}, g: {class: logging.NullHandler}}}",
			Logging{Level: "debug", Format: "text", Stream: "stderr", File: "/y.log", MaxSize: 1000, MaxFiles: 3}},
		{"logging: {version: 1, root: {level: DEBUG}}\nlogLevel: error", Logging{Level: "error", Format: "text", Stream: "stderr"}},
	} {
		if got := mustLoad(t, testHost{}, yamlFile(tt.text+"\n")).Logging; got != tt.want {
			t.Errorf("%s: %+v", tt.text, got)
		}
	}
}

// TestTemplates: a template is compiled once, wherever it stands, and its error is an
// error of the file.
func TestTemplates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte(`
defaults: {onFailure: {report: {webhook: {url: {value: "https://h"}, body: "{{ bad"}}}}
jobs:
  - {name: a, command: x, schedule: "@daily"}
  - {name: b, command: x, schedule: "@daily", onSuccess: {report: {mail: {from: a@x, to: b@x, subject: "{{ name }}"}}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	cfg, ds := Load(Sources{Files: []string{path}, Host: testHost{}, CheckTemplate: func(text string) error {
		calls[text]++
		if strings.Count(text, "{{") != strings.Count(text, "}}") {
			return os.ErrInvalid
		}
		return nil
	}})
	if cfg != nil || len(ds) != 1 || ds[0].Key != "onFailure.report.webhook.body" || ds[0].Line != 2 || ds[0].More != 1 {
		t.Errorf("config %v, diagnostics %+v", cfg, ds)
	}
	if want := map[string]int{"{{ bad": 1, "{{ name }}": 1}; !reflect.DeepEqual(calls, want) {
		t.Errorf("compiled: %v", calls)
	}
}

func TestExplanation(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "include: [b.yaml]\nstartingDeadline: 5\njobs:\n  - name: one\n    command: [echo, hi]\n    schedule: \"@daily\"\n    environment: [{key: A, value: hunter2}]\n" +
			"    onFailure: {report: {webhook: {url: {value: \"https://hunter2\"}, headers: {X: hunter2}}}}\nweb: {listen: [\"http://127.0.0.1:1\"], authToken: {value: hunter2}}\n",
		"b.yaml": "defaults:\n  shell: /bin/bash\n  failsWhen: {producesStdout: yes}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	cfg, ds := Load(Sources{Files: []string{"a.yaml"}, Host: testHost{}, Explain: true})
	if cfg == nil {
		t.Fatal(ds)
	}
	var lines []string
	for _, v := range append(cfg.Explanation.Jobs[0].Values, cfg.Explanation.Settings...) {
		lines = append(lines, v.Key+" = "+v.Text+" ("+v.Origin.String()+")")
	}
	all := strings.Join(lines, "\n")
	if strings.Contains(all, "hunter2") {
		t.Errorf("a secret is shown:\n%s", all)
	}
	for _, want := range []string{
		"command[0] = echo (a.yaml:5)", "schedule = @daily (a.yaml:6)", "shell = /bin/bash (b.yaml:2)", "saveLimit = 4096 (built in)",
		"environment.A = *** (a.yaml:7)", "startingDeadline = 5 (a.yaml:2)", "failsWhen.producesStdout = yes (b.yaml:3)", "failsWhen.always = false (built in)",
		"onFailure.retry.maximumRetries = 0 (built in)", "onFailure.report.webhook.url.value = *** (a.yaml:8)", "onFailure.report.webhook.method = POST (built in)",
		"onFailure.report.webhook.headers.X = *** (a.yaml:8)", "web.authToken.value = *** (a.yaml:9)", "web.ui = true (built in)", "logLevel = info (built in)",
	} {
		if !strings.Contains("\n"+all+"\n", "\n"+want+"\n") {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	if plain, _ := Load(Sources{Files: []string{"a.yaml"}, Host: testHost{}}); plain.Explanation != nil {
		t.Error("an explanation nobody asked for")
	}
}

// TestExplanationOfFreeKeys: where the schema knows no keys, the name tells a secret.
func TestExplanationOfFreeKeys(t *testing.T) {
	text := `logging:
  version: 1
  handlers:
    mail: {class: logging.handlers.SMTPHandler, mailhost: mx, credentials: [user, hunter2], password: hunter2}
    http: {class: logging.handlers.HTTPHandler, url: "https://h/hunter2", secure: {api-key: hunter2}}
jobs:
  - name: a
    command: x
    schedule: "@daily"
    onFailure: {report: {sentry: {dsn: {fromEnvVar: DSN}, extra: {api_token: hunter2, plain: shown}}}}
`
	cfg, ds := Load(Sources{Inline: []Inline{{Name: "a.yaml", Text: text}}, Host: testHost{}, Explain: true})
	if cfg == nil {
		t.Fatal(ds)
	}
	shown := map[string]string{}
	for _, v := range append(cfg.Explanation.Jobs[0].Values, cfg.Explanation.Settings...) {
		if shown[v.Key] = v.Text; strings.Contains(v.Text, "hunter2") || v.Hidden != (v.Text == "***") {
			t.Errorf("%+v", v)
		}
	}
	for key, want := range map[string]string{
		"logging.handlers.mail.mailhost": "mx", "logging.handlers.mail.credentials[1]": "***", "logging.handlers.http.secure.api-key": "***",
		"onFailure.report.sentry.extra.api_token": "***", "onFailure.report.sentry.extra.plain": "shown",
	} {
		if shown[key] != want {
			t.Errorf("%s is shown as %q, want %q", key, shown[key], want)
		}
	}
}
