package exposition

import (
	"fmt"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Family writes a family as registries gather them. The error is that of one of a kind
// that has no text form; nothing of it is written then.
func (w *Writer) Family(family *dto.MetricFamily) error {
	kind, err := kindOf(family)
	if err != nil {
		return err
	}
	w.Begin(family.GetName(), family.GetHelp(), kind)
	for _, m := range family.GetMetric() {
		w.metric(m)
	}
	return nil
}

func kindOf(family *dto.MetricFamily) (Kind, error) {
	switch kind := family.GetType(); kind {
	case dto.MetricType_COUNTER:
		return Counter, nil
	case dto.MetricType_GAUGE:
		if isInfo(family) {
			return Info, nil
		}
		return Gauge, nil
	case dto.MetricType_HISTOGRAM:
		return Histogram, nil
	case dto.MetricType_SUMMARY:
		return summary, nil
	case dto.MetricType_UNTYPED:
		return untyped, nil
	default:
		return 0, fmt.Errorf("metric %s: a %s has no text form", family.GetName(), kind)
	}
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

func (w *Writer) metric(m *dto.Metric) {
	labels := Labels(w.scratch[:0])
	for _, l := range m.GetLabel() {
		labels = AppendLabel(labels, l.GetName(), l.GetValue())
	}
	w.scratch = labels
	switch w.kind {
	case Counter:
		w.Value(m.GetCounter().GetValue(), labels)
	case Gauge, Info:
		w.Value(m.GetGauge().GetValue(), labels)
	case untyped:
		w.Value(m.GetUntyped().GetValue(), labels)
	case summary:
		s := m.GetSummary()
		for _, q := range s.GetQuantile() {
			w.Value(q.GetValue(), labels, AppendLabel(nil, "quantile", decimal(q.GetQuantile())))
		}
		w.total(s.GetSampleSum(), s.GetSampleCount(), labels)
	case Histogram:
		w.histogram(m.GetHistogram(), labels)
	}
}

func (w *Writer) histogram(h *dto.Histogram, labels Labels) {
	bounds, upTo := make([]float64, 0, len(h.GetBucket())), make([]uint64, 0, len(h.GetBucket()))
	for _, b := range h.GetBucket() {
		// The last one is that of all values, whether it is there or not.
		if !math.IsInf(b.GetUpperBound(), 1) {
			bounds, upTo = append(bounds, b.GetUpperBound()), append(upTo, b.GetCumulativeCount())
		}
	}
	w.Buckets(Bounds(bounds), upTo, h.GetSampleSum(), h.GetSampleCount(), labels)
}
