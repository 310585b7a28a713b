package api

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestInstantForm(t *testing.T) {
	east := time.FixedZone("east", 2*3600)
	for _, test := range []struct {
		at             time.Time
		instant, lease string
	}{
		{time.Time{}, "null", "null"},
		{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), `"2026-03-01T12:00:00+00:00"`, `"2026-03-01T12:00:00.000000Z"`},
		{time.Date(2026, 3, 1, 12, 0, 0, 0, east), `"2026-03-01T10:00:00+00:00"`, `"2026-03-01T10:00:00.000000Z"`},
		{time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC), `"2026-03-01T12:00:00.500000+00:00"`, `"2026-03-01T12:00:00.500000Z"`},
		{time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC), `"2026-03-01T12:00:00.000001+00:00"`, `"2026-03-01T12:00:00.000001Z"`},
		{time.Date(2026, 3, 1, 12, 0, 0, 999, time.UTC), `"2026-03-01T12:00:00+00:00"`, `"2026-03-01T12:00:00.000000Z"`},
		{time.Unix(0, 0), `"1970-01-01T00:00:00+00:00"`, `"1970-01-01T00:00:00.000000Z"`},
	} {
		if got, err := json.Marshal(At(test.at)); err != nil || string(got) != test.instant {
			t.Errorf("instant of %v is %s (%v), want %s", test.at, got, err, test.instant)
		}
		if got, err := json.Marshal(Expiry{test.at}); err != nil || string(got) != test.lease {
			t.Errorf("expiry of %v is %s (%v), want %s", test.at, got, err, test.lease)
		}
	}
}

func TestInstantRead(t *testing.T) {
	want := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)
	for _, text := range []string{`"2026-03-01T12:00:00.500000+00:00"`, `"2026-03-01T12:00:00.5Z"`, `"2026-03-01T14:00:00.5+02:00"`} {
		var i Instant
		if err := json.Unmarshal([]byte(text), &i); err != nil || i.Time != want {
			t.Errorf("%s read as %v (%v)", text, i, err)
		}
	}
	for _, text := range []string{`5`, `""`, `"today"`, `"2026-03-01 12:00:00"`, `{}`, `true`} {
		i := At(want)
		if err := json.Unmarshal([]byte(text), &i); err == nil {
			t.Errorf("%s read as %v", text, i)
		}
	}
	i := At(want)
	if err := json.Unmarshal([]byte("null"), &i); err != nil || !i.IsZero() {
		t.Errorf("null read as %v (%v)", i, err)
	}
}

func TestInstantRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Years 1 to 9999 are what the form can hold; the first instant is null.
		at := time.UnixMicro(rapid.Int64Range(-62135596800e6+1, 253402300799999999).Draw(t, "us")).UTC()
		data, err := json.Marshal(At(at))
		if err != nil {
			t.Fatal(err)
		}
		var back Instant
		if err := json.Unmarshal(data, &back); err != nil || back.Time != at {
			t.Fatalf("%v came back from %s as %v (%v)", at, data, back, err)
		}
	})
}

func TestNullString(t *testing.T) {
	for text, want := range map[NullString]string{"": "null", "a<b>&\"": `"a<b>&\""`} {
		if got, err := encode(text); err != nil || string(got) != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
		back := NullString("before")
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != text {
			t.Errorf("%s read as %q (%v)", want, back, err)
		}
	}
	var s NullString
	if err := json.Unmarshal([]byte("5"), &s); err == nil {
		t.Errorf("a number read as %q", s)
	}
}
