package main

import (
	"bytes"
	"strings"
	"testing"
)

const output = `goos: linux
goarch: amd64
pkg: github.com/yacron2/yacron2/scheduler
cpu: some processor
BenchmarkNext/leap-day-2         	  120000	      9876 ns/op	     512 B/op	       3 allocs/op
BenchmarkParse-2                 	 1000000	      1020 ns/op
PASS
ok  	github.com/yacron2/yacron2/scheduler	3.210s
?   	github.com/yacron2/yacron2/ui	[no test files]
pkg: github.com/yacron2/yacron2/internal/e2e
BenchmarkColdStart               	       1	       310.5 median-ms	       402.0 max-ms	     900 B/op	       7 allocs/op
--- FAIL: BenchmarkBroken
    broken_test.go:9: no leader
FAIL
`

func TestTable(t *testing.T) {
	var other, out bytes.Buffer
	table, err := read(strings.NewReader(output), &other)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.write(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"package       benchmark      ns/op  B/op  allocs/op  median-ms  max-ms",
		"scheduler     Next/leap-day   9876   512          3",
		"scheduler     Parse           1020",
		"internal/e2e  ColdStart                                  310.5   402.0",
		"",
	}, "\n")
	if got := out.String(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
	// What failed must not vanish between the rows.
	if want := "--- FAIL: BenchmarkBroken\n    broken_test.go:9: no leader\nFAIL\n"; other.String() != want {
		t.Errorf("other lines %q, want %q", other.String(), want)
	}
}

func TestTableWithoutResults(t *testing.T) {
	var out bytes.Buffer
	table, err := read(strings.NewReader("PASS\nBenchmarkNot a result\n"), &out)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.write(&out); err == nil {
		t.Error("an empty table is no error")
	}
}
