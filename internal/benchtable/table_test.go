package main

import (
	"bytes"
	"io"
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

func TestColumns(t *testing.T) {
	var progress, other, out bytes.Buffer
	table, err := read(strings.NewReader(output), &progress, &other)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.writeColumns(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"package       benchmark      ns/op  B/op  allocs/op  median-ms  max-ms",
		"scheduler     Next/leap-day   9876   512          3",
		"scheduler     Parse           1020",
		"internal/e2e  ColdStart                                  310.5     402",
		"",
	}, "\n")
	if got := out.String(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
	// What failed must not vanish between the rows.
	if want := "--- FAIL: BenchmarkBroken\n    broken_test.go:9: no leader\nFAIL\n"; other.String() != want {
		t.Errorf("other lines %q, want %q", other.String(), want)
	}
	if lines := strings.Split(progress.String(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[2], "internal/e2e BenchmarkColdStart ") {
		t.Errorf("progress %q", lines)
	}
}

const figures = `pkg: github.com/yacron2/yacron2/agent
BenchmarkAPI/jobs=1/agent-2    	 1	 2500000 ns/op	 12.345 p99-ms	 20.00 goal:p99-ms	 3000 B/op
BenchmarkAPI/jobs=1/bare-2     	 1	 1000000 ns/op	  3.5 p99-ms
BenchmarkAPI/jobs=2/agent-2    	 1	  999 ns/op	 0.001234 p99-ms
BenchmarkStart/bare-2          	 1	 7 p99-ms
BenchmarkStart/a|b/c-2         	 3	 9 p99-ms	 1.5 ratio
BenchmarkStart/a|b/c-2         	 3	 8 p99-ms	 2.5 ratio
BenchmarkStart/a|b/c-2         	 3	 10 p99-ms	 1234.5 ratio
pkg: github.com/yacron2/yacron2/other
BenchmarkStart/a               	 1	 9 p99-ms
BenchmarkSlow                  	 1	 61500000000 ns/op
`

func TestMarkdown(t *testing.T) {
	table, err := read(strings.NewReader(figures), io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := table.writeMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"| package | benchmark | figure | unit | limit | goal |",
		"| --- | --- | --- | --- | --- | --- |",
		"| agent | `API/jobs=1/agent` | 2.5 | ms/op | 1 |  |",
		"| agent | `API/jobs=1/agent` | 12.3 | p99-ms | 3.5 | < 20 |",
		"| agent | `API/jobs=2/agent` | 999 | ns/op |  |  |",
		"| agent | `API/jobs=2/agent` | 0.00123 | p99-ms |  |  |",
		"| agent | `Start/a\\|b/c` | 9 | p99-ms | 7 |  |",
		"| agent | `Start/a\\|b/c` | 2.5 | ratio |  |  |",
		"| other | `Start/a` | 9 | p99-ms |  |  |",
		"| other | `Slow` | 61.5 | s/op |  |  |",
		"",
	}, "\n")
	if got := out.String(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 1234567: "1234567", 1234.5: "1234", 123.4: "123", 12.34: "12.3", 1.5: "1.5", 0.05: "0.05", 0.0012345: "0.00123", -2.345: "-2.35", 99.96: "100",
	} {
		if got := figure(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

func TestTableWithoutResults(t *testing.T) {
	var out bytes.Buffer
	table, err := read(strings.NewReader("PASS\nBenchmarkNot a result\n"), &out, &out)
	if err != nil {
		t.Fatal(err)
	}
	if table.writeColumns(&out) == nil || table.writeMarkdown(&out) == nil {
		t.Error("an empty table is no error")
	}
}
