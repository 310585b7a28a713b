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
