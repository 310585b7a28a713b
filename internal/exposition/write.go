package exposition

import (
	"math"
	"strconv"
	"strings"
)

// Kind is what the samples of a family are.
type Kind int

// The kinds.
const (
	Counter   Kind = iota
	Gauge          // a number that goes up and down
	Info           // always 1: what it tells is in its labels
	Histogram      // numbers of values up to bounds
	summary
	untyped
)

// Writer appends families to a text, one after the other: each begins with Begin, then
// come its samples. A family without samples leaves no trace.
type Writer struct {
	out    []byte
	format Format

	// Of the newest family.
	headless bool // no sample has come yet
	name     string
	help     string
	kind     Kind
	sample   string // name of its samples, but for a suffix
	scratch  []byte
}

// NewWriter returns a Writer that appends to out.
func NewWriter(out []byte, f Format) *Writer { return &Writer{out: out, format: f} }

// End ends the text and returns it.
func (w *Writer) End() []byte {
	if w.format == OpenMetrics {
		w.out = append(w.out, "# EOF\n"...)
	}
	return w.out
}

const (
	totalSuffix = "_total"
	infoSuffix  = "_info"
)

// Begin begins a family. The name is that of the classic text: that of a counter ends in
// _total, that of an Info in _info. A help of "" is none.
func (w *Writer) Begin(name, help string, kind Kind) {
	w.headless, w.name, w.help, w.kind, w.sample = true, name, help, kind, name
	if w.format == OpenMetrics && kind == Counter {
		w.sample = strings.TrimSuffix(name, totalSuffix) + totalSuffix
	}
}

// head writes what stands before the samples.
func (w *Writer) head() {
	w.headless = false
	title, kind := w.name, ""
	switch w.kind {
	case Counter:
		kind = "counter"
		if w.format == OpenMetrics {
			title = strings.TrimSuffix(title, totalSuffix)
		}
	case Gauge:
		kind = "gauge"
	case Info:
		kind = "gauge"
		if w.format == OpenMetrics {
			kind, title = "info", strings.TrimSuffix(title, infoSuffix)
		}
	case Histogram:
		kind = "histogram"
	case summary:
		kind = "summary"
	case untyped:
		kind = "untyped"
		if w.format == OpenMetrics {
			kind = "unknown"
		}
	}
	if w.help != "" {
		w.out = append(append(append(w.out, "# HELP "...), title...), ' ')
		w.out = append(appendEscaped(w.out, w.help, w.format == OpenMetrics), '\n')
	}
	w.out = append(append(append(w.out, "# TYPE "...), title...), ' ')
	w.out = append(append(w.out, kind...), '\n')
}

// Labels is one label or more as they stand in a line: they are encoded once for all the
// samples that have them.
type Labels []byte

// AppendLabel appends an encoded label to out, which must be empty or end in one.
func AppendLabel(out Labels, name, value string) Labels {
	if len(out) > 0 {
		out = append(out, ',')
	}
	out = append(append(out, name...), `="`...)
	return append(appendEscaped(out, value, true), '"')
}

// Value writes one sample. Labels must be in the order of their names, here and below.
func (w *Writer) Value(v float64, labels ...Labels) {
	w.begin("", labels...)
	w.out = append(appendNumber(w.out, v), '\n')
}

// Count writes one sample that is a number of things.
func (w *Writer) Count(n uint64, labels ...Labels) {
	w.begin("", labels...)
	w.count(n)
}

func (w *Writer) count(n uint64) {
	if n < exact {
		w.out = append(strconv.AppendUint(w.out, n, 10), '\n')
	} else {
		w.out = append(appendNumber(w.out, float64(n)), '\n')
	}
}

// Bounds encodes the upper bounds of buckets, which must grow.
func Bounds(bounds []float64) []Labels {
	all := make([]Labels, len(bounds))
	for i, b := range bounds {
		all[i] = AppendLabel(nil, "le", decimal(b))
	}
	return all
}

// Buckets writes one sample of a histogram: the number of values up to each bound, of all
// values, and their sum. The bounds are those of Bounds, without that of infinity.
func (w *Writer) Buckets(bounds []Labels, upTo []uint64, sum float64, count uint64, labels Labels) {
	for i, n := range upTo {
		w.begin("_bucket", labels, bounds[i])
		w.count(n)
	}
	w.begin("_bucket", labels, Labels(`le="+Inf"`))
	w.count(count)
	w.total(sum, count, labels)
}

// total writes the sum and the number of all values.
func (w *Writer) total(sum float64, count uint64, labels Labels) {
	w.begin("_sum", labels)
	w.out = append(appendNumber(w.out, sum), '\n')
	w.begin("_count", labels)
	w.count(count)
}

// begin writes a line up to its number.
func (w *Writer) begin(suffix string, labels ...Labels) {
	if w.headless {
		w.head()
	}
	out := append(append(w.out, w.sample...), suffix...)
	first := true
	for _, l := range labels {
		if len(l) == 0 {
			continue
		}
		if first {
			out, first = append(out, '{'), false
		} else {
			out = append(out, ',')
		}
		out = append(out, l...)
	}
	if !first {
		out = append(out, '}')
	}
	w.out = append(out, ' ')
}

// appendEscaped appends text as it may stand in a line, and within quotes if quoted is set.
func appendEscaped(out []byte, text string, quoted bool) []byte {
	from := 0
	for i := range len(text) {
		var escaped string
		switch c := text[i]; {
		case c == '\\':
			escaped = `\\`
		case c == '\n':
			escaped = `\n`
		case c == '"' && quoted:
			escaped = `\"`
		default:
			continue
		}
		out = append(append(out, text[from:i]...), escaped...)
		from = i + 1
	}
	return append(out, text[from:]...)
}

// exact is the bound up to which every whole number has a float64 of its own.
const exact = 1 << 53

// appendNumber appends the value of a sample: whole numbers as such, others in the
// shortest form that reads back as the same.
func appendNumber(out []byte, v float64) []byte {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < exact:
		return strconv.AppendInt(out, int64(v), 10)
	case math.IsInf(v, 1):
		return append(out, "+Inf"...)
	case math.IsInf(v, -1):
		return append(out, "-Inf"...)
	case math.IsNaN(v):
		return append(out, "NaN"...)
	}
	return strconv.AppendFloat(out, v, notation(v), -1, 64)
}

// notation chooses positional notation unless that would be long.
func notation(v float64) byte {
	if size := math.Abs(v); size >= 1e16 || size < 1e-4 && size > 0 {
		return 'g'
	}
	return 'f'
}

// decimal writes the bound of a bucket, or a quantile, always as a fraction.
func decimal(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return string(appendNumber(nil, v))
	}
	text := strconv.FormatFloat(v, notation(v), -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
