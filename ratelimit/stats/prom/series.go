package prom

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// family is a metric: all series of one name.
type family struct {
	name     string
	help     string
	kind     kind
	desc     *prometheus.Desc
	series   int
	reserved bool // retained without series
	foreign  bool // belongs to another collector
}

func newFamily(name string, to *target) *family {
	text := cmp.Or(to.help, help(to.metric, to.kind))
	return &family{name: name, help: text, kind: to.kind, desc: prometheus.NewDesc(name, text, nil, nil)}
}

// labelSet holds labels that several series have in common, such as those of a limit.
type labelSet struct {
	id     string
	pairs  []*dto.LabelPair
	series int
}

// seriesID identifies a series in a scrape.
type seriesID struct {
	family *family
	labels *labelSet
}

// series is the export of one statistic, or of several mapped by a file.
type series struct {
	seriesID
	shared   bool
	users    int      // statistics
	observer observer // of histograms and summaries

	value float64 // of the present scrape
	gone  float64 // counts of forgotten statistics
	live  bool    // not all statistics have expired
}

// observer is a histogram or a summary.
type observer interface {
	prometheus.Metric
	prometheus.Observer
}

// sample is a counter or gauge as it was read.
type sample struct {
	series *series
	value  float64
}

// Desc implements prometheus.Metric.
func (m *sample) Desc() *prometheus.Desc { return m.series.family.desc }

// Write implements prometheus.Metric.
func (m *sample) Write(to *dto.Metric) error {
	to.Label = m.series.labels.pairs
	if m.series.family.kind == counter {
		to.Counter = &dto.Counter{Value: &m.value}
	} else {
		to.Gauge = &dto.Gauge{Value: &m.value}
	}
	return nil
}

// table holds the metrics and series in use, and prevents two statistics from sharing
// a series unintentionally.
type table struct {
	tags     prometheus.Labels
	families map[string]*family
	sets     map[string]*labelSet // by id
	series   map[seriesID]*series
}

func newTable(tags prometheus.Labels, reserved []target) *table {
	t := &table{
		tags: tags, families: make(map[string]*family),
		sets: make(map[string]*labelSet), series: make(map[seriesID]*series),
	}
	for i := range reserved {
		f := newFamily(reserved[i].metric, &reserved[i])
		f.reserved = true
		t.families[f.name] = f
	}
	return t
}

// claim finds or creates the series of a statistic, until release.
func (t *table) claim(to *target, statistic string) (*series, error) {
	f, err := t.family(to)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(t.tags)
	maps.Copy(labels, to.labels)
	normalize(labels)
	at := seriesID{f, t.set(labels)}
	if s := t.series[at]; s != nil {
		if s.shared && to.shared {
			s.users++
			return s, nil
		}
		labels[statisticLabel] = quoted(statistic)
		if at.labels = t.set(labels); t.series[at] != nil {
			return nil, fmt.Errorf("another statistic has the metric %s with the same labels", f.name)
		}
	}
	s := &series{seriesID: at, shared: to.shared, users: 1}
	switch to.kind {
	case histogram:
		opts := to.histogram
		opts.Name, opts.Help, opts.ConstLabels = f.name, f.help, labels
		s.observer = prometheus.NewHistogram(opts)
	case summary:
		opts := to.summary
		opts.Name, opts.Help, opts.ConstLabels = f.name, f.help, labels
		s.observer = prometheus.NewSummary(opts)
	}
	t.series[at], t.families[f.name], t.sets[at.labels.id] = s, f, at.labels
	f.series++
	at.labels.series++
	return s, nil
}

// set finds or creates the set of some labels. A new one is not in the table yet.
func (t *table) set(labels prometheus.Labels) *labelSet {
	names := slices.Sorted(maps.Keys(labels))
	var id strings.Builder
	for _, name := range names {
		id.WriteString(name + "\xff" + labels[name] + "\xff") // a byte that valid UTF-8 does not contain
	}
	if known := t.sets[id.String()]; known != nil {
		return known
	}
	s := &labelSet{id: id.String()}
	for _, name := range names {
		s.pairs = append(s.pairs, &dto.LabelPair{Name: new(name), Value: new(labels[name])})
	}
	return s
}

func (t *table) release(s *series) {
	if s.users--; s.users > 0 {
		return
	}
	delete(t.series, s.seriesID)
	if s.labels.series--; s.labels.series == 0 {
		delete(t.sets, s.labels.id)
	}
	if s.family.series--; s.family.series == 0 && !s.family.reserved {
		delete(t.families, s.family.name)
	}
}

// family finds or creates the metric of a target. A new one is not in the table yet.
func (t *table) family(to *target) (*family, error) {
	name := to.metric
	for {
		f := t.families[name]
		if f != nil && f.kind == to.kind && !f.foreign {
			return f, nil
		}
		other := t.clash(name, to.kind)
		if other == nil {
			return newFamily(name, to), nil
		}
		if to.shared {
			return nil, fmt.Errorf("the metric %s, a %s, would clash with the metric %s, a %s", name, to.kind, other.name, other.kind)
		}
		name += "_" + string(to.kind)
	}
}

// clash finds a metric that a scrape could not distinguish from a new one.
func (t *table) clash(name string, k kind) *family {
	if f := t.families[name]; f != nil {
		return f
	}
	for _, suffix := range []string{"_count", "_sum", "_bucket"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			if f := t.families[base]; f != nil && f.kind.writes(suffix) {
				return f
			}
		}
		if f := t.families[name+suffix]; f != nil && k.writes(suffix) {
			return f
		}
	}
	return nil
}

// writes reports whether metrics of the kind have lines with the suffix.
func (k kind) writes(suffix string) bool {
	return k == histogram || k == summary && suffix != "_bucket"
}

// reserve blocks names that belong to other collectors of the same scrape.
func (t *table) reserve(others []*dto.MetricFamily) {
	for _, o := range others {
		t.families[o.GetName()] = &family{
			name: o.GetName(), kind: kind(strings.ToLower(o.GetType().String())), reserved: true, foreign: true,
		}
	}
}

// statisticLabel distinguishes statistics that would otherwise be one series.
const statisticLabel = "statistic"

// quoted returns a label value that differs for any two names: the name itself if it
// can be shown.
func quoted(name string) string {
	if valid(name) != name || name == "" || name[0] == '"' {
		return strconv.Quote(name)
	}
	return name
}

// normalize makes values valid and removes empty ones, which equal missing labels.
func normalize(labels prometheus.Labels) {
	for name, value := range labels {
		if value == "" {
			delete(labels, name)
		} else {
			labels[name] = valid(value)
		}
	}
}

// tagLabels returns the labels of tags. owns reports the names that the mapping uses.
func tagLabels(tags []stats.Tag, owns func(string) bool) (prometheus.Labels, error) {
	labels := make(prometheus.Labels, len(tags))
	from := make(map[string]string, len(tags))
	for i, tag := range tags {
		if tag.Name == "" {
			return nil, fmt.Errorf("prom: tag %d has no name: it must be <name>:<value>", i+1)
		}
		name := escape(tag.Name)
		switch {
		case owns(name), name == statisticLabel, name == "le", name == "quantile":
			name = "tag_" + name
		case strings.HasPrefix(name, "__"): // reserved by Prometheus
			name = "tag" + name
		}
		if other, ok := from[name]; ok {
			return nil, fmt.Errorf("prom: tags %q and %q would both be the label %s: rename one", other, tag.Name, name)
		}
		from[name], labels[name] = tag.Name, tag.Value
	}
	normalize(labels)
	return labels, nil
}
