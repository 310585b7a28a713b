package kubernetes

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
)

// foreign is a Lease as kubectl shows it.
const foreign = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"yacron2-leader","namespace":"jobs",
	"uid":"7d1f","resourceVersion":"1234","annotations":{"example.org/note":"kept"},"labels":{"team":"ops"}},
	"spec":{"holderIdentity":"node-b#c0ffee","leaseDurationSeconds":30,"acquireTime":"2026-11-29T21:00:00.123456Z",
	"renewTime":"2026-11-29T21:00:10.000000Z","leaseTransitions":7}}`

func parse(t *testing.T, text string) *coordination.Lease {
	t.Helper()
	l := new(coordination.Lease)
	if err := json.Unmarshal([]byte(text), l); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRecordOfALease(t *testing.T) {
	s := plain("node-a")
	l := parse(t, foreign)
	r := s.recordOf(l)
	if r.Holder != "node-b" || r.HolderID != "node-b#c0ffee" || r.Own || r.Released || r.Stands != 30*time.Second {
		t.Errorf("the record of another holder: %+v", r)
	}
	want := map[string]any{"name": leaseName, "namespace": "jobs", "identity": "node-a"}
	if !maps.Equal(r.Detail, want) {
		t.Errorf("the details are %v, want %v", r.Detail, want)
	}
	// Without a duration, the own one counts.
	l.Spec.LeaseDurationSeconds = nil
	if r := s.recordOf(l); r.Stands != 15*time.Second {
		t.Errorf("a record without a duration stands for %s", r.Stands)
	}
	// Its holder renews it less often than a second, by whatever configuration.
	l.Spec.LeaseDurationSeconds = pointer[int32](1)
	if r := s.recordOf(l); r.Stands != 4*time.Second {
		t.Errorf("a record with a duration of 1 s stands for %s", r.Stands)
	}
	l.Spec.HolderIdentity = pointer(s.id)
	if r := s.recordOf(l); !r.Own || r.Holder != "node-a" {
		t.Errorf("the own record: %+v", r)
	}
	l.Spec.HolderIdentity = pointer("")
	if r := s.recordOf(l); r.Holder != "" || r.Own || !r.Released || r.Stands != 0 {
		t.Errorf("a released record: %+v", r)
	}
	l.Spec = coordination.LeaseSpec{}
	if r := s.recordOf(l); r.Holder != "" || r.Released || r.Version == "" {
		t.Errorf("a record that nobody has held: %+v", r)
	}
	if r := s.recordOf(nil); r.Holder != "" || r.Released || r.Version != "" || r.Detail == nil {
		t.Errorf("no record: %+v", r)
	}
}

func TestVersionIsOfTheRecordAlone(t *testing.T) {
	l := parse(t, foreign)
	before := versionOf(l)
	l.ResourceVersion = "1235"
	annotate(l, runningKey("x"), "{}")
	if versionOf(l) != before {
		t.Error("a mark changes the version: a dead holder would never be replaced")
	}
	for name, change := range map[string]func(*coordination.Lease){
		"renewTime":   func(l *coordination.Lease) { l.Spec.RenewTime = micro(l.Spec.RenewTime.Add(time.Microsecond)) },
		"acquireTime": func(l *coordination.Lease) { l.Spec.AcquireTime = micro(l.Spec.AcquireTime.Add(time.Microsecond)) },
		"holder":      func(l *coordination.Lease) { l.Spec.HolderIdentity = pointer("node-b#cafe") },
		"transitions": func(l *coordination.Lease) { l.Spec.LeaseTransitions = pointer[int32](8) },
		"duration":    func(l *coordination.Lease) { l.Spec.LeaseDurationSeconds = pointer[int32](31) },
		"uid":         func(l *coordination.Lease) { l.UID = "else" },
	} {
		l := parse(t, foreign)
		if change(l); versionOf(l) == before {
			t.Errorf("the version does not tell another %s", name)
		}
	}
}

func TestTakeKeepsWhatIsNotTheRecord(t *testing.T) {
	s := plain("node-a")
	now := time.Date(2026, 11, 30, 4, 5, 6, 123456789, time.FixedZone("", 3600))
	s.cfg.WallClock = func() time.Time { return now }
	next, err := s.take(parse(t, foreign))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(next.Spec)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"holderIdentity":"` + s.id + `","leaseDurationSeconds":15,"acquireTime":"2026-11-30T03:05:06.123456Z","renewTime":"2026-11-30T03:05:06.123456Z","leaseTransitions":8}`
	if string(text) != want {
		t.Errorf("the spec is %s, want %s", text, want)
	}
	if next.Annotations["example.org/note"] != "kept" || next.Labels["team"] != "ops" || next.ResourceVersion != "1234" || next.UID != "7d1f" {
		t.Errorf("the rest is %+v", next.ObjectMeta)
	}
	// Taking one's own record again, even within a microsecond, is another hold.
	again, err := s.take(next)
	if err != nil {
		t.Fatal(err)
	}
	if transitionsOf(again) != 8 || holdingOf(again) == holdingOf(next) {
		t.Errorf("taken again: %+v after %+v", holdingOf(again), holdingOf(next))
	}
	if first, err := s.take(nil); err != nil || transitionsOf(first) != 0 {
		t.Errorf("the first holder: %+v, %v", first, err)
	}
}

func TestHolderIDs(t *testing.T) {
	a, b := holderID("node"), holderID("node")
	if a == b || !strings.HasPrefix(a, "node#") {
		t.Errorf("two processes are %s and %s", a, b)
	}
	for holder, name := range map[string]string{a: "node", "node": "node", "no#de#1": "no#de", "#1": "#1", "": ""} {
		if got := nameOf(holder); got != name {
			t.Errorf("%q reads as %q, want %q", holder, got, name)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]uint64{"1234": 1234, "18446744073709551615": math.MaxUint64,
		"18446744073709551616": 0, "0x10": 0, "-1": 0, "abc": 0, "": 0, "1.5": 0} {
		l := &coordination.Lease{}
		l.ResourceVersion = text
		if got := tokenOf(l); got != want {
			t.Errorf("the version %q gives the token %d, want %d", text, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int32{0: 1, time.Millisecond: 1, 15 * time.Second: 15, 15*time.Second + 1: 16, math.MaxInt64: math.MaxInt32} {
		if got := seconds(d); got != want {
			t.Errorf("%s is written as %d, want %d", d, got, want)
		}
	}
}
