package exposition

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func labels(pairs ...string) []*dto.LabelPair {
	var list []*dto.LabelPair
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, &dto.LabelPair{Name: &pairs[i], Value: &pairs[i+1]})
	}
	return list
}

func family(name, help string, kind dto.MetricType, metrics ...*dto.Metric) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &kind, Metric: metrics}
}

func gauge(v float64, pairs ...string) *dto.Metric {
	return &dto.Metric{Label: labels(pairs...), Gauge: &dto.Gauge{Value: &v}}
}

func counter(v float64, pairs ...string) *dto.Metric {
	return &dto.Metric{Label: labels(pairs...), Counter: &dto.Counter{Value: &v}}
}

// written is families in text.
func written(out []byte, f Format, families ...*dto.MetricFamily) (string, error) {
	w := NewWriter(out, f)
	for _, family := range families {
		if err := w.Family(family); err != nil {
			return "", err
		}
	}
	return string(w.End()), nil
}

func sampleFamilies() []*dto.MetricFamily {
	return []*dto.MetricFamily{
		family("a_empty", "Nothing.", dto.MetricType_GAUGE),
		family("a_info", "What it is.", dto.MetricType_GAUGE, gauge(1, "version", "1.0")),
		family("b_gauge", "Back\\slash, \"quotes\"\nand a line.", dto.MetricType_GAUGE,
			gauge(0), gauge(-15, "code", "x"), gauge(0.1), gauge(1764460800), gauge(1764460800.25), gauge(9007199254740991), gauge(9007199254740992),
			gauge(math.Inf(1)), gauge(math.Inf(-1)), gauge(1e-9)),
		family("c_runs_total", "Runs.", dto.MetricType_COUNTER, counter(3, "job", "a\\b\"c\nd é", "status", "success")),
		family("d_seconds", "Durations.", dto.MetricType_HISTOGRAM, &dto.Metric{Label: labels("job", "x"), Histogram: &dto.Histogram{
			SampleCount: proto.Uint64(4), SampleSum: proto.Float64(3601.5),
			Bucket: []*dto.Bucket{
				{UpperBound: proto.Float64(0.1), CumulativeCount: proto.Uint64(1)}, {UpperBound: proto.Float64(1), CumulativeCount: proto.Uint64(2)},
				{UpperBound: proto.Float64(3600), CumulativeCount: proto.Uint64(3)}, {UpperBound: proto.Float64(1000000), CumulativeCount: proto.Uint64(3)},
			},
		}}),
		family("e_summary", "Times.", dto.MetricType_SUMMARY, &dto.Metric{Summary: &dto.Summary{
			SampleCount: proto.Uint64(2), SampleSum: proto.Float64(7),
			Quantile: []*dto.Quantile{{Quantile: proto.Float64(0.5), Value: proto.Float64(3)}},
		}}),
		family("f_untyped", "", dto.MetricType_UNTYPED, &dto.Metric{Untyped: &dto.Untyped{Value: proto.Float64(2)}}),
		family("g_not_info", "Not always one.", dto.MetricType_GAUGE, gauge(2)),
		family("h_odd_info", "Not always one.", dto.MetricType_GAUGE, gauge(2)),
		family("i_count", "A counter with another name.", dto.MetricType_COUNTER, counter(5)),
	}
}

const wantText = `# HELP a_info What it is.
# TYPE a_info gauge
a_info{version="1.0"} 1
# HELP b_gauge Back\\slash, "quotes"\nand a line.
# TYPE b_gauge gauge
b_gauge 0
b_gauge{code="x"} -15
b_gauge 0.1
b_gauge 1764460800
b_gauge 1764460800.25
b_gauge 9007199254740991
b_gauge 9007199254740992
b_gauge +Inf
b_gauge -Inf
b_gauge 1e-09
# HELP c_runs_total Runs.
# TYPE c_runs_total counter
c_runs_total{job="a\\b\"c\nd é",status="success"} 3
# HELP d_seconds Durations.
# TYPE d_seconds histogram
d_seconds_bucket{job="x",le="0.1"} 1
d_seconds_bucket{job="x",le="1.0"} 2
d_seconds_bucket{job="x",le="3600.0"} 3
d_seconds_bucket{job="x",le="1000000.0"} 3
d_seconds_bucket{job="x",le="+Inf"} 4
d_seconds_sum{job="x"} 3601.5
d_seconds_count{job="x"} 4
# HELP e_summary Times.
# TYPE e_summary summary
e_summary{quantile="0.5"} 3
e_summary_sum 7
e_summary_count 2
# TYPE f_untyped untyped
f_untyped 2
# HELP g_not_info Not always one.
# TYPE g_not_info gauge
g_not_info 2
# HELP h_odd_info Not always one.
# TYPE h_odd_info gauge
h_odd_info 2
# HELP i_count A counter with another name.
# TYPE i_count counter
i_count 5
`

func TestText(t *testing.T) {
	got, err := written([]byte("before\n"), Text, sampleFamilies()...)
	if err != nil || got != "before\n"+wantText {
		t.Errorf("%v, got\n%s", err, got)
	}
}

func TestOpenMetrics(t *testing.T) {
	got, err := written(nil, OpenMetrics, sampleFamilies()...)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"# HELP a_info", "# HELP a", "# TYPE a_info gauge", "# TYPE a info",
		`"quotes"`, `\"quotes\"`,
		"# HELP c_runs_total", "# HELP c_runs", "# TYPE c_runs_total", "# TYPE c_runs",
		"untyped\nf", "unknown\nf", "i_count 5", "i_count_total 5",
	).Replace(wantText) + "# EOF\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A family that cannot be written leaves the others alone.
func TestWhatHasNoText(t *testing.T) {
	w := NewWriter(nil, OpenMetrics)
	if err := w.Family(family("x", "", dto.MetricType_GAUGE_HISTOGRAM, gauge(1))); err == nil {
		t.Error("a gauge histogram was written")
	}
	if err := w.Family(family("y", "", dto.MetricType_GAUGE, gauge(1))); err != nil {
		t.Error(err)
	}
	if got := string(w.End()); got != "# TYPE y gauge\ny 1\n# EOF\n" {
		t.Errorf("got %q", got)
	}
	if got, err := written(nil, OpenMetrics); err != nil || got != "# EOF\n" {
		t.Errorf("nothing is %q, %v", got, err)
	}
}

// What is written sample by sample is what families say that have the same samples.
func TestSamplesAreThoseOfFamilies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]Format{Text, OpenMetrics}).Draw(t, "format")
		value := rapid.OneOf(rapid.Float64(), rapid.Just(1.0), rapid.Just(float64(exact)))
		count := rapid.OneOf(rapid.Uint64Max(9), rapid.Uint64())
		bounds := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), 0, 4).Draw(t, "bounds"))))
		w := NewWriter(nil, format)
		var all []*dto.MetricFamily
		for i := range rapid.IntRange(0, 4).Draw(t, "families") {
			name, help := fmt.Sprint("f", i), rapid.String().Draw(t, "help")
			kind := rapid.SampledFrom([]Kind{Counter, Gauge, Info, Histogram}).Draw(t, "kind")
			f := family(name, help, map[Kind]dto.MetricType{
				Counter: dto.MetricType_COUNTER, Gauge: dto.MetricType_GAUGE, Info: dto.MetricType_GAUGE, Histogram: dto.MetricType_HISTOGRAM,
			}[kind])
			switch kind {
			case Counter:
				*f.Name += "_total"
			case Info:
				*f.Name += "_info"
			}
			w.Begin(f.GetName(), help, kind)
			for range rapid.IntRange(0, 3).Draw(t, "samples") {
				m := &dto.Metric{}
				var encoded []Labels
				for k := range rapid.IntRange(0, 3).Draw(t, "labels") {
					label := rapid.String().Draw(t, "label")
					m.Label = append(m.Label, labels(fmt.Sprint("l", k), label)...)
					encoded = append(encoded, AppendLabel(nil, fmt.Sprint("l", k), label))
				}
				switch kind {
				case Counter:
					n := count.Draw(t, "n")
					m.Counter = &dto.Counter{Value: proto.Float64(float64(n))}
					w.Count(n, encoded...)
				case Gauge:
					v := value.Draw(t, "v")
					m.Gauge = &dto.Gauge{Value: &v}
					w.Value(v, encoded...)
				case Info:
					m.Gauge = &dto.Gauge{Value: proto.Float64(1)}
					w.Value(1, encoded...)
				case Histogram:
					h := &dto.Histogram{SampleCount: proto.Uint64(count.Draw(t, "n")), SampleSum: proto.Float64(value.Draw(t, "sum"))}
					upTo := make([]uint64, len(bounds))
					for k := range bounds {
						upTo[k] = count.Draw(t, "n")
						h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bounds[k], CumulativeCount: &upTo[k]})
					}
					m.Histogram = h
					w.Buckets(Bounds(bounds), upTo, h.GetSampleSum(), h.GetSampleCount(), Labels(bytes.Join(plain(encoded), []byte(","))))
				}
				f.Metric = append(f.Metric, m)
			}
			all = append(all, f)
		}
		want, err := written(nil, format, all...)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(w.End()); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func plain(labels []Labels) [][]byte {
	all := make([][]byte, len(labels))
	for i, l := range labels {
		all[i] = l
	}
	return all
}

func TestNegotiate(t *testing.T) {
	for _, tt := range []struct {
		accept []string
		want   Format
	}{
		{nil, Text},
		{[]string{"*/*"}, Text},
		{[]string{"text/plain; version=0.0.4"}, Text},
		{[]string{"application/openmetrics-text"}, OpenMetrics},
		{[]string{"text/plain;q=1, Application/OpenMetrics-Text;version=0.0.1;q=0"}, OpenMetrics},
		{[]string{"text/html", "application/openmetrics-text; version=1.0.0"}, OpenMetrics},
	} {
		if got := Negotiate(tt.accept); got != tt.want {
			t.Errorf("%q: got %v", tt.accept, got)
		}
	}
}

// The parser of Prometheus' own library reads back what was written, whatever labels
// and values are.
func FuzzText(f *testing.F) {
	f.Add("é\\\"\n", "help \\ \n", 0.25, uint64(7))
	f.Add("", "x", math.MaxFloat64, uint64(0))
	f.Add("\xff", "\xff", -1e-300, uint64(math.MaxUint32))
	blanks := regexp.MustCompile(`^[ \t]+`)
	f.Fuzz(func(t *testing.T, label, help string, v float64, n uint64) {
		label, help = strings.ToValidUTF8(label, "?"), strings.ToValidUTF8(help, "?")
		n %= exact
		in := []*dto.MetricFamily{
			family("a", help, dto.MetricType_GAUGE, gauge(v, "l", label)),
			family("b", help, dto.MetricType_HISTOGRAM, &dto.Metric{Label: labels("l", label), Histogram: &dto.Histogram{
				SampleCount: &n, SampleSum: &v, Bucket: []*dto.Bucket{{UpperBound: proto.Float64(0.5), CumulativeCount: &n}},
			}}),
		}
		text, err := written(nil, Text, in...)
		if err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		out, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		a, b := out["a"].GetMetric()[0], out["b"].GetMetric()[0]
		if a.GetLabel()[0].GetValue() != label || !same(a.GetGauge().GetValue(), v) {
			t.Fatalf("%q and %v became %v", label, v, a)
		}
		// The parser drops blanks before a help.
		if got := out["a"].GetHelp(); got != blanks.ReplaceAllString(help, "") {
			t.Fatalf("help %q became %q", help, got)
		}
		if h := b.GetHistogram(); h.GetSampleCount() != n || !same(h.GetSampleSum(), v) || len(h.GetBucket()) != 2 || h.GetBucket()[0].GetCumulativeCount() != n {
			t.Fatalf("became %v", b)
		}
	})
}

// BenchmarkWriter writes two samples for each of 10,000 jobs.
func BenchmarkWriter(b *testing.B) {
	success, failure := AppendLabel(nil, "status", "success"), AppendLabel(nil, "status", "failure")
	var jobs []Labels
	for i := range 10_000 {
		jobs = append(jobs, AppendLabel(nil, "job_name", fmt.Sprint("some-job-with-a-name-", i)))
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		w := NewWriter(out[:0], Text)
		w.Begin("yacron2_job_runs_total", "Runs.", Counter)
		for i, job := range jobs {
			w.Count(uint64(i), job, success)
			w.Count(0, job, failure)
		}
		out = w.End()
	}
	b.SetBytes(int64(len(out)))
}
