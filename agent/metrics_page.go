package agent

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/yacron2/yacron2/internal/exposition"
	"github.com/yacron2/yacron2/scheduler"
)

// page writes everything that is shown. The series of jobs, which are nearly all of them,
// do not go through the registry: it would make each sample an object of its own, and
// sort and check it.
type page struct {
	*metrics
	states func() []scheduler.JobStatus
}

// append appends a scrape to out. After an error the rest is there.
func (p *page) append(out []byte, format exposition.Format) ([]byte, error) {
	families, err := gather(p.registry)
	jobs := p.figures()
	own := allJobSeries()
	w := exposition.NewWriter(out, format)
	for _, f := range families {
		for len(own) > 0 && own[0].name < f.GetName() {
			own[0].append(w, jobs)
			own = own[1:]
		}
		err = errors.Join(err, w.Family(f))
	}
	for _, s := range own {
		s.append(w, jobs)
	}
	return w.End(), err
}

// gather returns what a registry has, by name, with names and helps of Prometheus. After
// an error the rest is there.
func gather(from prometheus.Gatherer) ([]*dto.MetricFamily, error) {
	families, err := from.Gather()
	for _, f := range families {
		// What comes by go-metrics has no help of its own.
		if f.GetHelp() == f.GetName() {
			f.Help = proto.String("Counted by way of go-metrics; times are in milliseconds.")
			f.Name = proto.String(seriesName(f.GetName(), f.GetType()))
		}
	}
	slices.SortStableFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// seriesName turns a name of go-metrics into one of Prometheus.
func seriesName(name string, kind dto.MetricType) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if kind == dto.MetricType_COUNTER && !strings.HasSuffix(name, "_total") {
		b.WriteString("_total")
	}
	return b.String()
}

// jobFigures is what the series of jobs are written from.
type jobFigures struct {
	counted []jobCounts         // by name
	bounds  []exposition.Labels // of the histograms
	states  []jobFigure         // in the order of the configuration
}

// jobFigure is how one job stands.
type jobFigure struct {
	*scheduler.JobStatus
	label exposition.Labels // job_name
}

// figures reads everything about jobs, for one scrape.
func (p *page) figures() *jobFigures {
	states := p.states()
	size := 0
	for i := range states {
		size += len(`job_name=""`) + len(states[i].Job.Name)
	}
	f := &jobFigures{states: make([]jobFigure, len(states))}
	free := make(exposition.Labels, 0, size) // for the labels of all jobs, if little is escaped
	for i := range states {
		label := exposition.AppendLabel(free, "job_name", states[i].Job.Name)
		free = label[len(label):]
		f.states[i] = jobFigure{&states[i], label}
	}
	counted, bounds := p.snapshot()
	f.counted, f.bounds = counted, exposition.Bounds(bounds)
	return f
}
