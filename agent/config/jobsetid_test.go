package config

import (
	"strings"
	"testing"
)

const plainJob = "name: a, command: echo hi, schedule: '5 4 * * *'"

func idOf(t *testing.T, text string) string {
	t.Helper()
	return mustLoad(t, testHost{root: true}, yamlFile(text)).JobSetID
}

func oneJob(keys string) string { return "jobs: [{" + keys + "}]\n" }

// TestJobSetIDChanges: every key that changes what a job does changes the id, and no
// two of the changes collide.
func TestJobSetIDChanges(t *testing.T) {
	seen := map[string]string{idOf(t, oneJob(plainJob)): plainJob, idOf(t, "jobs: []"): ""}
	for _, keys := range []string{
		"name: b, command: echo hi, schedule: '5 4 * * *'",
		"name: a, command: echo ho, schedule: '5 4 * * *'",
		"name: a, command: [echo hi], schedule: '5 4 * * *'",
		"name: a, command: [echo, hi], schedule: '5 4 * * *'",
		"name: a, command: echo hi, schedule: '5 4 * * 1'",
		"name: a, command: echo hi, schedule: '5 4 1 * 1'",
		"name: a, command: echo hi, schedule: '5 4 1 * 1', dayMatch: or",
		"name: a, command: echo hi, schedule: '@reboot'",
		plainJob + ", shell: /bin/bash",
		plainJob + ", enabled: no",
		plainJob + ", utc: no",
		plainJob + ", timezone: Europe/Paris",
		plainJob + ", concurrencyPolicy: Forbid",
		plainJob + ", clusterPolicy: PreferLeader",
		plainJob + ", captureStdout: yes",
		plainJob + ", captureStderr: no",
		plainJob + ", saveLimit: 5",
		plainJob + ", maxLineLength: 5",
		plainJob + ", streamPrefix: x",
		plainJob + ", environment: [{key: A, value: b}]",
		plainJob + ", environment: [{key: A, value: b}, {key: B, value: b}]",
		plainJob + ", user: alice",
		plainJob + ", user: 1001",
		plainJob + ", group: 1001",
		plainJob + ", group: staff",
		plainJob + ", workingDirectory: /srv",
		plainJob + ", startingDeadline: 30",
		plainJob + ", startingDeadline: 5",
		plainJob + ", executionTimeout: 0.5",
		plainJob + ", killTimeout: 0.5",
		plainJob + ", failsWhen: {producesStdout: yes}",
		plainJob + ", failsWhen: {producesStdout: no, producesStderr: no}",
		plainJob + ", failsWhen: {producesStdout: no, nonzeroReturn: no}",
		plainJob + ", failsWhen: {producesStdout: no, always: yes}",
		plainJob + ", onFailure: {retry: {maximumRetries: 1, initialDelay: 1, maximumDelay: 300, backoffMultiplier: 2}}",
		plainJob + ", onFailure: {retry: {maximumRetries: 0, initialDelay: 3, maximumDelay: 300, backoffMultiplier: 2}}",
		plainJob + ", onFailure: {retry: {maximumRetries: 0, initialDelay: 1, maximumDelay: 301, backoffMultiplier: 2}}",
		plainJob + ", onFailure: {retry: {maximumRetries: 0, initialDelay: 1, maximumDelay: 300, backoffMultiplier: 3}}",
		plainJob + ", onFailure: {retry: {maximumRetries: 0, initialDelay: 1, maximumDelay: 300, backoffMultiplier: 2, jitter: 0.1}}",
	} {
		id := idOf(t, oneJob(keys))
		if other, ok := seen[id]; ok {
			t.Errorf("one id for\n  %s\n  %s", keys, other)
		}
		seen[id] = keys
		if !strings.HasPrefix(id, "v1:") || len(id) != 3+64 {
			t.Errorf("malformed id %q", id)
		}
	}
}

// TestJobSetIDStays: the way in which a set is written does not matter, nor does what
// only other nodes' or people's view of it touches.
func TestJobSetIDStays(t *testing.T) {
	want := idOf(t, oneJob(plainJob))
	for _, text := range []string{
		oneJob("schedule: '5 4 * * *', command: echo hi, name: a"),
		oneJob("name: a, command: echo hi, schedule: '  05   4 * *  *'"),
		oneJob("name: a, command: echo hi, schedule: {hour: '4', minute: '5'}"),
		oneJob("name: a, command: echo hi, schedule: '5 4 * * * *'"),
		oneJob("name: a, command: echo hi, schedule: '5 4 * jan-dec 0-7'"),
		oneJob(plainJob + ", utc: yes, timezone: UTC"),
		oneJob(plainJob + ", utc: no, timezone: UTC"),
		oneJob(plainJob + ", dayMatch: or"),
		oneJob(plainJob + ", enabled: on, captureStderr: 'Y', saveLimit: 4_096, maxLineLength: 016777216, killTimeout: 3e1, shell: /bin/sh, clusterPolicy: Leader, concurrencyPolicy: Allow"),
		oneJob(plainJob + ", failsWhen: {producesStdout: 0}, onFailure: {retry: {maximumRetries: 0, initialDelay: 1.0, maximumDelay: 300, backoffMultiplier: 2}}"),
		"defaults: {killTimeout: 30, shell: /bin/other}\njobs: [{" + plainJob + ", shell: /bin/sh}]\n",
		"startingDeadline: 5\nlogLevel: debug\ndataDir: /x\n" + oneJob(plainJob),
		"web: {listen: ['http://127.0.0.1:1']}\ncluster: {backend: etcd}\n" + oneJob(plainJob),
	} {
		if got := idOf(t, text); got != want {
			t.Errorf("another id for\n%s", text)
		}
	}
	envA := idOf(t, oneJob(plainJob+", environment: [{key: A, value: secret1}, {key: B, value: x}]"))
	envB := idOf(t, "defaults: {environment: [{key: B, value: y}]}\njobs: [{"+plainJob+", environment: [{key: A, value: secret2}]}]\n")
	if envA != envB {
		t.Error("values or the order of the environment change the id")
	}
	a, b := "{"+plainJob+"}", "{name: b, command: x, schedule: '@daily', executionTimeout: 1}"
	if idOf(t, "jobs: ["+a+", "+b+"]") != idOf(t, "jobs: ["+b+", "+a+"]") {
		t.Error("the order of jobs changes the id")
	}
	if idOf(t, oneJob("name: b, command: x, schedule: '@daily', executionTimeout: 1")) !=
		idOf(t, "defaults: {executionTimeout: 1.000}\njobs: [{name: b, command: x, schedule: '0 0 * * *'}]") {
		t.Error("defaults or inline, macro or fields change the id")
	}
	if got := JobSetID(nil); got != "v1:2d27fbdf4e8ca207afbfa388ca9172fbcc6c70e534af2476b3b704f87debadcf" {
		t.Errorf("the empty set has the id %s", got)
	}
}

// TestJobSetIDIsPinned: an id is compared between nodes of different builds, so a
// change of it is a change of the scheme.
func TestJobSetIDIsPinned(t *testing.T) {
	const want = "v1:24b42fbfe2818a99340868e1439fe655319b4ee3d6e52a051166bbbe839a96b0"
	if got := idOf(t, oneJob(plainJob)); got != want {
		t.Errorf("got %s", got)
	}
}

// TestJobSetIDOfReports: what is reported where is part of the id, secrets are not.
func TestJobSetIDOfReports(t *testing.T) {
	hook := func(report string) string {
		return oneJob(plainJob + ", onFailure: {report: {" + report + "}}")
	}
	seen := map[string]string{idOf(t, oneJob(plainJob)): ""}
	for _, text := range []string{
		hook("shell: {command: a}"),
		hook("shell: {command: [a]}"),
		hook("shell: {command: a, shell: /bin/bash}"),
		hook("mail: {from: a, to: b}"),
		hook("mail: {from: a, to: c}"),
		hook("mail: {from: b, to: b}"),
		hook("mail: {from: a, to: b, smtpHost: h}"),
		hook("mail: {from: a, to: b, smtpPort: 26}"),
		hook("mail: {from: a, to: b, tls: yes}"),
		hook("mail: {from: a, to: b, starttls: yes}"),
		hook("mail: {from: a, to: b, validate_certs: no}"),
		hook("mail: {from: a, to: b, html: yes}"),
		hook("mail: {from: a, to: b, username: u}"),
		hook("mail: {from: a, to: b, password: {value: p}}"),
		hook("mail: {from: a, to: b, password: {fromEnvVar: p}}"),
		hook("mail: {from: a, to: b, password: {fromEnvVar: q}}"),
		hook("mail: {from: a, to: b, password: {fromFile: p}}"),
		hook("mail: {from: a, to: b, subject: ''}"),
		hook("mail: {from: a, to: b, body: ''}"),
		hook("sentry: {dsn: {fromEnvVar: d}}"),
		hook("sentry: {dsn: {fromEnvVar: d}, body: b}"),
		hook("sentry: {dsn: {fromEnvVar: d}, fingerprint: [a]}"),
		hook("sentry: {dsn: {fromEnvVar: d}, fingerprint: []}"),
		hook("sentry: {dsn: {fromEnvVar: d}, level: info}"),
		hook("sentry: {dsn: {fromEnvVar: d}, environment: e}"),
		hook("sentry: {dsn: {fromEnvVar: d}, extra: {a: 1}}"),
		hook("sentry: {dsn: {fromEnvVar: d}, extra: {a: 01}}"),
		hook("sentry: {dsn: {fromEnvVar: d}, maxStringLength: 5}"),
		hook("webhook: {url: {fromEnvVar: u}}"),
		hook("webhook: {url: {fromEnvVar: u}, method: PUT}"),
		hook("webhook: {url: {fromEnvVar: u}, contentType: a/b}"),
		hook("webhook: {url: {fromEnvVar: u}, headers: {A: b}}"),
		hook("webhook: {url: {fromEnvVar: u}, headers: {B: b}}"),
		hook("webhook: {url: {fromEnvVar: u}, body: b}"),
		hook("webhook: {url: {fromEnvVar: u}, timeout: 11}"),
		oneJob(plainJob + ", onPermanentFailure: {report: {shell: {command: a}}}"),
		oneJob(plainJob + ", onSuccess: {report: {shell: {command: a}}}"),
		oneJob(plainJob + ", onMiss: {report: {shell: {command: a}}}"),
		oneJob(plainJob + ", statsd: {prefix: p, host: h, port: 1}"),
		oneJob(plainJob + ", statsd: {prefix: q, host: h, port: 1}"),
		oneJob(plainJob + ", statsd: {prefix: p, host: i, port: 1}"),
		oneJob(plainJob + ", statsd: {prefix: p, host: h, port: 2}"),
	} {
		id := idOf(t, text)
		if other, ok := seen[id]; ok {
			t.Errorf("one id for\n  %s\n  %s", text, other)
		}
		seen[id] = text
	}
	for _, same := range [][2]string{
		{hook("webhook: {url: {value: 'https://h/a'}, headers: {B: '1', A: '2'}}"), hook("webhook: {url: {value: 'https://h/b'}, headers: {A: '3', B: '4'}, method: POST, timeout: 1e1}")},
		{hook("mail: {from: a, to: b, password: {value: p}, username: u}"), hook("mail: {from: a, to: b, password: {value: q}, username: u, smtpPort: 025}")},
		{hook("sentry: {dsn: {value: 'https://a@b/1'}, extra: {a: 1, b: 2}}"), hook("sentry: {dsn: {value: 'https://c@d/2'}, extra: {b: 2, a: 1}, level: error}")},
		{oneJob(plainJob), hook("mail: {from: '', to: ''}, webhook: {url: {value: ''}}")},
		{hook("mail: {from: a, to: b}"), "defaults: {onFailure: {report: {mail: {from: a, to: b}}}}\n" + oneJob(plainJob)},
	} {
		if idOf(t, same[0]) != idOf(t, same[1]) {
			t.Errorf("two ids for\n  %s\n  %s", same[0], same[1])
		}
	}
}
