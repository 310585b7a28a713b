package exposition

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Append appends families, in their order, to out. Families without samples are left
// out. The error is that of a family of a kind that has no text form.
func Append(out []byte, f Format, families []*dto.MetricFamily) ([]byte, error) {
	w := writer{out: out, format: f}
	for _, family := range families {
		if len(family.GetMetric()) == 0 {
			continue
		}
		if err := w.family(family); err != nil {
			return w.out, err
		}
	}
	if f == OpenMetrics {
		w.out = append(w.out, "# EOF\n"...)
	}
	return w.out, nil
}

// writer appends to a text.
type writer struct {
	out    []byte
	format Format
	labels []byte // scratch
}

const (
	totalSuffix = "_total"
	infoSuffix  = "_info"
)

func (w *writer) family(family *dto.MetricFamily) error {
	name, kind := family.GetName(), family.GetType()
	title, typeName, sample := name, "", name
	switch kind {
	case dto.MetricType_COUNTER:
		typeName = "counter"
		if w.format == OpenMetrics {
			title = strings.TrimSuffix(name, totalSuffix)
			sample = title + totalSuffix
		}
	case dto.MetricType_GAUGE:
		typeName = "gauge"
		if w.format == OpenMetrics && isInfo(family) {
			typeName, title = "info", strings.TrimSuffix(name, infoSuffix)
		}
	case dto.MetricType_UNTYPED:
		typeName = "untyped"
		if w.format == OpenMetrics {
			typeName = "unknown"
		}
	case dto.MetricType_SUMMARY:
		typeName = "summary"
	case dto.MetricType_HISTOGRAM:
		typeName = "histogram"
	default:
		return fmt.Errorf("metric %s: a %s has no text form", name, kind)
	}
	if help := family.GetHelp(); help != "" {
		w.out = append(append(append(w.out, "# HELP "...), title...), ' ')
		w.escape(help, w.format == OpenMetrics)
		w.out = append(w.out, '\n')
	}
	w.out = append(append(append(w.out, "# TYPE "...), title...), ' ')
	w.out = append(append(w.out, typeName...), '\n')
	for _, m := range family.GetMetric() {
		w.metric(sample, kind, m)
	}
	return nil
}

// isInfo reports whether a gauge only carries labels.
func isInfo(family *dto.MetricFamily) bool {
	if !strings.HasSuffix(family.GetName(), infoSuffix) {
		return false
	}
	for _, m := range family.GetMetric() {
		if m.GetGauge().GetValue() != 1 {
			return false
		}
	}
	return true
}

func (w *writer) metric(name string, kind dto.MetricType, m *dto.Metric) {
	w.labelsOf(m)
	switch kind {
	case dto.MetricType_COUNTER:
		w.sample(name, "", "", "", m.GetCounter().GetValue())
	case dto.MetricType_GAUGE:
		w.sample(name, "", "", "", m.GetGauge().GetValue())
	case dto.MetricType_UNTYPED:
		w.sample(name, "", "", "", m.GetUntyped().GetValue())
	case dto.MetricType_SUMMARY:
		s := m.GetSummary()
		for _, q := range s.GetQuantile() {
			w.sample(name, "", "quantile", decimal(q.GetQuantile()), q.GetValue())
		}
		w.sample(name, "_sum", "", "", s.GetSampleSum())
		w.sample(name, "_count", "", "", float64(s.GetSampleCount()))
	case dto.MetricType_HISTOGRAM:
		h := m.GetHistogram()
		whole := false
		for _, b := range h.GetBucket() {
			w.sample(name, "_bucket", "le", decimal(b.GetUpperBound()), float64(b.GetCumulativeCount()))
			whole = whole || math.IsInf(b.GetUpperBound(), 1)
		}
		if !whole {
			w.sample(name, "_bucket", "le", "+Inf", float64(h.GetSampleCount()))
		}
		w.sample(name, "_sum", "", "", h.GetSampleSum())
		w.sample(name, "_count", "", "", float64(h.GetSampleCount()))
	}
}

// labelsOf encodes the labels of a metric, which all of its samples share.
func (w *writer) labelsOf(m *dto.Metric) {
	out := w.out
	w.out = w.labels[:0]
	for i, l := range m.GetLabel() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(append(w.out, l.GetName()...), `="`...)
		w.escape(l.GetValue(), true)
		w.out = append(w.out, '"')
	}
	w.labels, w.out = w.out, out
}

// sample writes one line; key is a label of its own, "" for none.
func (w *writer) sample(name, suffix, key, value string, v float64) {
	w.out = append(append(w.out, name...), suffix...)
	if len(w.labels) > 0 || key != "" {
		w.out = append(append(w.out, '{'), w.labels...)
		if key != "" {
			if len(w.labels) > 0 {
				w.out = append(w.out, ',')
			}
			w.out = append(append(w.out, key...), `="`...)
			w.out = append(append(w.out, value...), '"')
		}
		w.out = append(w.out, '}')
	}
	w.out = append(w.out, ' ')
	w.out = append(appendNumber(w.out, v), '\n')
}

// escape appends text as it may stand in a line, and within quotes if quoted is set.
func (w *writer) escape(text string, quoted bool) {
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
		w.out = append(append(w.out, text[from:i]...), escaped...)
		from = i + 1
	}
	w.out = append(w.out, text[from:]...)
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
