package simcluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutated reports whether this run is to break a rule that the simulation itself keeps,
// where a node would.
func mutated(rule string) bool { return os.Getenv(mutantVariable) == rule }

// mutantVariable names the rule to break.
const mutantVariable = "YACRON2_MUTANT"

// kindVariable names the kind of runs with which that is looked for.
const kindVariable = "YACRON2_SIM_KIND"

// mutant is one rule broken in the source of a package: a text that stands there once, and
// what it is replaced by while the rule is broken.
type mutant struct {
	rule     string
	file     string // below the root of the module; "" if the simulation breaks the rule itself
	old, new string
	by       string // the test that must fail
	kind     string // of the runs with which it looks; "": all of them
}

// The tests that mutants must make fail.
const (
	byTwice  = "TestNoLeaderFiringRunsTwice"
	byLoss   = "TestConnectedMajorityRunsEverything"
	byChange = "TestNodesComeAndGoWithoutLoss"
	byTwins  = "TestTwinsStandDown"
)

// mutants break each rule that the promise rests on. In what replaces the text, MUTANT
// stands for whether this is the mutant of the run.
var mutants = []mutant{
	// The voter.
	{"fence", "election/votes.go", "if f.At.Before(l.fence) {", "if !MUTANT && f.At.Before(l.fence) {", byTwice, "restarts"},
	{"fence without clock skew", "election/votes.go", "l.fence = now.Add(-c.Clock.Uptime).Add(ClockSkew)",
		"l.fence = now.Add(-c.Clock.Uptime).Add(ClockSkew)\nif MUTANT {\nl.fence = l.fence.Add(-ClockSkew)\n}", byTwice, "restarts"},
	{"one vote per firing", "election/votes.go", "if holder := g.instance.Value(); holder != r.InstanceID {",
		"if holder := g.instance.Value(); !MUTANT && holder != r.InstanceID {", byTwice, "any"},
	{"votes are for members", "election/votes.go", "func judgeRequest(c VoterContext, r ClaimRequest) Refusal {\n",
		"func judgeRequest(c VoterContext, r ClaimRequest) Refusal {\nif MUTANT {\nreturn \"\"\n}\n", byTwice, "joiners"},
	{"one-shots are recorded", "election/oneshot.go", "o.touch(vote.JobSetID)[vote.Firing.Job] = oneShot{holder: vote.InstanceID, granted: true}",
		"if !MUTANT {\no.touch(vote.JobSetID)[vote.Firing.Job] = oneShot{holder: vote.InstanceID, granted: true}\n}", byTwice, "any"},
	{"answer after the sync", "", "", "", byTwice, "restarts"},
	// The count.
	{"strict majority", "election/tally.go", "case t.granted() >= quorum:", "case t.granted() >= quorum || MUTANT && t.granted() >= quorum-1 && t.n > 1:", byTwice, "any"},
	// The election.
	{"conflicts pause Leader jobs", "election/decide.go", "	case v.Conflict():\n		return Decision{Code: CodeConflict,",
		"	case !MUTANT && v.Conflict():\n		return Decision{Code: CodeConflict,", byTwins, ""},
	{"the lower twin runs", "election/decide.go", `case v.isMe(owner) && twin != "":`, `case !MUTANT && v.isMe(owner) && twin != "":`, byTwins, ""},
	{"hold", "election/decide.go", "	case !v.Settled():\n		return Decision{Code: CodeHold,", "	case !MUTANT && !v.Settled():\n		return Decision{Code: CodeHold,", byChange, ""},
	{"stopping nodes are left out", "election/sets.go", "		case p.Stopping:\n		case len(agreeing)", "		case !MUTANT && p.Stopping:\n		case len(agreeing)", byChange, ""},
	// The dispatcher.
	{"not before the instant", "scheduler/tick.go", "for _, batch := range d.table.Due(now) {",
		"if MUTANT {\nnow = now.Add(time.Second)\n}\nfor _, batch := range d.table.Due(now) {", byTwice, "any"},
	{"deadline again at the start", "scheduler/launch.go", "if now := d.now(); now.After(deadline(job, l.firing.at)) {",
		"if now := d.now(); !MUTANT && now.After(deadline(job, l.firing.at)) {", byTwice, "freezes"},
	{"consumed across a reload", "scheduler/dispatcher.go", "	d.consumed.forget(d.entries)\n", "	d.consumed.forget(d.entries)\n	if MUTANT {\n		d.consumed = newConsumed()\n	}\n", byTwice, "reloads"},
	{"a retry asks again", "scheduler/retry.go", "	f := &firing{entry: e, at: r.at, trigger: TriggerRetry}\n",
		"	f := &firing{entry: e, at: r.at, trigger: TriggerRetry}\n	if MUTANT {\n		v.Action = election.Run\n	}\n", byChange, ""},
	{"late firings are asked for once", "scheduler/late.go", "			if d.askable(&f.firing) {\n				claims = append(claims, &f.firing)\n			}\n			continue",
		"			if MUTANT {\n				again := f.firing\n				claims = append(claims, &again)\n				break\n			}\n			if d.askable(&f.firing) {\n				claims = append(claims, &f.firing)\n			}\n			continue", byTwice, "any"},
	{"a moved job has no past", "scheduler/late.go", "if e.job == nil || job != nil && job.Enabled && identityOf(e.job) == identityOf(job) {",
		"if MUTANT && job != nil || e.job == nil || job != nil && job.Enabled && identityOf(e.job) == identityOf(job) {", byTwice, "reloads"},
	{"late start", "scheduler/late.go", "		case v.Action != election.Run:\n			f.verdict = v\n", "		case v.Action != election.Run || MUTANT:\n			f.verdict = v\n", byChange, ""},
	{"claims are repeated", "scheduler/claim.go", "			pending = append(pending, f)\n", "			if !MUTANT {\n				pending = append(pending, f)\n			}\n", byLoss, ""},
	{"no overlap across nodes", "scheduler/claim.go", `if job := f.entry.job; v.RunningOn != "" &&`, `if job := f.entry.job; !MUTANT && v.RunningOn != "" &&`, byChange, ""},
	{"PreferLeader is inherited", "scheduler/late.go", "			if d.inheritsFrom(f) {", "			if !MUTANT && d.inheritsFrom(f) {", byChange, ""},
	{"losses are recorded", "scheduler/late.go", "		d.lose(&f.firing, of(DecidedMissed, v), election.Verdict{})", "		if !MUTANT {\n			d.lose(&f.firing, of(DecidedMissed, v), election.Verdict{})\n		}", byLoss, ""},
}

// mutantTime is how long a test looks for a mutant. Nearly all are found within seconds.
const mutantTime = 5 * time.Minute

// Every rule matters: once it is broken in the source, the simulation fails.
func TestMutantsAreCaught(t *testing.T) {
	if os.Getenv(mutantVariable) != "" {
		return // this is a mutant
	}
	binary := buildMutants(t)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			began := time.Now()
			cmd := exec.Command(binary, "-test.run", "^"+m.by+"$", "-rapid.shrinktime=1ns", "-rapid.nofailfile")
			cmd.Env = append(os.Environ(), mutantVariable+"="+m.rule, kindVariable+"="+m.kind, "YACRON2_SIM_RANDOM=1", "YACRON2_SIM_TIME="+(10*mutantTime).String(), "GOMAXPROCS=1")
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !bytes.Contains(out, []byte("--- FAIL: "+m.by)) || !bytes.Contains(out, []byte("[rapid]")) {
				t.Fatalf("%s did not notice within %v: %v\n%s", m.by, time.Since(began), err, tail(out))
			}
			t.Logf("%s noticed after %v: %s", m.by, time.Since(began).Round(time.Millisecond), firstLine(out))
		})
	}
}

// buildMutants builds this package's tests with all mutants in the source, of which the
// environment chooses one. The source itself stays as it is.
func buildMutants(t *testing.T) (binary string) {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, m := range mutants {
		if m.file == "" {
			continue
		}
		if sources[m.file] == "" {
			data, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}
			sources[m.file] = string(data)
		}
		if n := strings.Count(sources[m.file], m.old); n != 1 {
			t.Fatalf("%s: the text to replace stands %d times in %s", m.rule, n, m.file)
		}
		sources[m.file] = strings.Replace(sources[m.file], m.old, strings.ReplaceAll(m.new, "MUTANT", `(mutant == "`+m.rule+`")`), 1)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(file, source string) {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, file)] = path
	}
	packages := []string{}
	for file, source := range sources {
		put(file, source)
		if p := filepath.Dir(file); !slices.Contains(packages, p) {
			packages = append(packages, p)
			put(p+"/mutant.go", "package "+filepath.Base(p)+"\n\nimport \"os\"\n\nvar mutant = os.Getenv(\""+mutantVariable+"\")\n")
		}
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, data, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutants.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the mutants: %v\n%s", err, out)
	}
	return binary
}

// tail returns the end of what a run wrote.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// firstLine returns the line that says what a run failed with.
func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if _, text, ok := strings.Cut(line, "[rapid]"); ok {
			return strings.TrimSpace(text[:min(len(text), 200)])
		}
	}
	return ""
}
