package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	table := &table{units: []string{"median-ms"}, rows: []*row{{pkg: "e2e", name: "ColdStart", values: map[string][]float64{"median-ms": {1.5}}}}}
	all := limits()
	for i := range all {
		all[i].times = 3
	}
	if err := table.addLimits(all); err != nil {
		t.Fatal(err)
	}
	if len(table.rows) != len(all)+1 || table.units[0] != "ns/op" {
		t.Fatalf("%+v", table)
	}
	for _, r := range table.rows[:len(all)] {
		if v, ok := r.median("ns/op"); r.pkg != "machine" || !ok || v <= 0 {
			t.Errorf("%+v", r)
		}
	}
	var out bytes.Buffer
	if err := table.writeColumns(&out); err != nil || !strings.HasPrefix(strings.Split(out.String(), "\n")[1], "machine  start and await a process") {
		t.Errorf("%v:\n%s", err, &out)
	}

	broken := limit{"broken", 1, func(int) ([]time.Duration, error) { return nil, errors.New("no disk") }}
	if err := table.addLimits([]limit{broken}); err == nil || err.Error() != "broken: no disk" {
		t.Errorf("%v", err)
	}
}

func TestDescribe(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	got := describe(at, strings.NewReader("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"))
	if !strings.HasPrefix(got, "2026-03-01, ") || !strings.Contains(got, " processors, Some CPU @ 3 GHz, go") {
		t.Errorf("%q", got)
	}
	if got := describe(at, strings.NewReader("")); strings.Contains(got, ", ,") {
		t.Errorf("%q", got)
	}
}
