package kubernetes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/lease"
)

// plain returns a store that cannot be used to send anything.
func plain(identity string) *Store {
	return &Store{cfg: Config{Identity: lease.Identity{NodeName: "node", InstanceID: "self"}, HolderIdentity: identity,
		LeaseName: leaseName, LeaseNamespace: "jobs", Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, WallClock: time.Now}, id: holderID(identity)}
}

func annotated(texts map[string]string) *coordination.Lease {
	l := new(coordination.Lease)
	for key, text := range texts {
		annotate(l, key, text)
	}
	return l
}

func markText(t *testing.T, instance string, written int64, size int) string {
	t.Helper()
	text, err := json.Marshal(storedMark{Written: written,
		Mark: lease.Mark{InstanceID: instance, Jobs: []string{strings.Repeat("j", size)}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFitDropsWhatIsLeastMissed(t *testing.T) {
	var ran lease.RanRecord
	for i := range 3 {
		ran = ran.Add(fmt.Sprint("v1:", i), strings.Repeat("x", 40<<10), "self")
	}
	l := annotated(map[string]string{
		claimsKey:         strings.Repeat("c", 100<<10),
		runningKey("old"): markText(t, "old", 10, 30<<10),
		runningKey("new"): markText(t, "new", 20, 30<<10),
		// Whoever wrote this one is none of ours any more.
		runningKey("odd"):  strings.Repeat("?", 10),
		runningKey("self"): markText(t, "self", 5, 30<<10),
		"example.org/note": strings.Repeat("n", 20<<10),
	})
	if err := setRan(l, ran); err != nil {
		t.Fatal(err)
	}
	keys := func() string {
		var has []string
		for _, key := range []string{"odd", "old", "new", "self"} {
			if l.Annotations[runningKey(key)] != "" {
				has = append(has, key)
			}
		}
		r, err := ranOf(l)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(has, " ran ", r.Sets())
	}
	if err := fit(l, "self"); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(), "[odd old new self] ran 1"; got != want {
		t.Errorf("job sets of the past go first: %s, want %s", got, want)
	}
	if r, _ := ranOf(l); len(r.Jobs("v1:2")) == 0 {
		t.Error("the newest job set is gone")
	}
	annotate(l, "example.org/note", strings.Repeat("n", 50<<10))
	if err := fit(l, "self"); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(), "[new self] ran 1"; got != want {
		t.Errorf("then the oldest marks: %s, want %s", got, want)
	}
	annotate(l, "example.org/note", strings.Repeat("n", 120<<10))
	err := fit(l, "self")
	if err == nil || !strings.Contains(err.Error(), "room for 262144") {
		t.Errorf("what has no room: %v", err)
	}
	if got, want := len(l.Annotations[claimsKey]), 100<<10; got != want {
		t.Errorf("the claims have %d bytes, want %d", got, want)
	}
}

func TestRunningKeysAreNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, instance := range []string{"0123456789abcdef0123456789abcdef", "a/b", "", "-", "é", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		key := runningKey(instance)
		name := strings.TrimPrefix(key, "yacron2/")
		if len(name) > 63 || !annotationName.MatchString(strings.TrimPrefix(key, runningKeys)) {
			t.Errorf("%q is no name of an annotation", key)
		}
		if seen[key] {
			t.Errorf("%q has the key of another", instance)
		}
		seen[key] = true
	}
}

func TestHoldersAreRemembered(t *testing.T) {
	l := new(coordination.Lease)
	for i := range maxHolders + 2 {
		l.Spec.LeaseTransitions = pointer(int32(65530 + i)) // over the edge of 16 bits
		l.Spec.HolderIdentity = pointer(fmt.Sprintf("node-%d#token", i))
		if err := addHolder(l); err != nil {
			t.Fatal(err)
		}
	}
	l.Spec.HolderIdentity = pointer("renamed#token")
	if err := addHolder(l); err != nil {
		t.Fatal(err)
	}
	for transitions, want := range map[int]string{65530: "", 65531: "", 65532: "node-2", 65536: "node-6", 65530 + maxHolders + 1: "renamed"} {
		if got := claimant(l, owner(transitions)); got != want {
			t.Errorf("transition %d is of %q, want %q", transitions, got, want)
		}
	}
	if got := claimant(annotated(map[string]string{holdersKey: "{"}), 1); got != "" {
		t.Errorf("a list that cannot be read names %q", got)
	}
}

func TestMarksOfOthersSurviveNonsense(t *testing.T) {
	l := annotated(map[string]string{
		runningKey("b"): markText(t, "b", 1, 3), runningKey("a"): markText(t, "a", 2, 3),
		runningKey("c"): "{", runningKey("d"): "{}", "yacron2/else": markText(t, "e", 2, 3)})
	marks := marksOf(l)
	if len(marks) != 2 || marks[0].InstanceID != "a" || marks[1].InstanceID != "b" {
		t.Errorf("the marks are %+v", marks)
	}
	if marks := marksOf(nil); marks == nil || len(marks) != 0 {
		t.Errorf("the marks of no Lease are %#v", marks)
	}
}
