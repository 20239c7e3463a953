package prom

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// table holds the metrics and series that are in use, and sees to it that no two
// statistics take the same one unawares.
type table struct {
	tags []label

	mu       sync.Mutex // may be locked while the registry is
	families map[string]*family
	sets     map[string]*labelSet // by identity
	series   map[place]*series
}

// place is where a series is in a scrape.
type place struct {
	family *family
	labels *labelSet
}

// family is a metric: all series of one name.
type family struct {
	name   string
	help   string
	kind   kind
	desc   *prometheus.Desc
	series int
	kept   bool // although it has no series
	closed bool // somebody else's
}

// series is what one statistic, or several by the wish of a mapping file, is shown as.
type series struct {
	place
	shared   bool
	users    int      // statistics
	observer observer // of histograms and summaries

	// The rest belongs to the readings, under Exporter.mu.
	round uint64 // the last one that came across it
	value float64
	gone  float64 // counts of statistics that are no more
	live  bool
}

func newTable(tags []label, reserved []target) *table {
	t := &table{
		tags:     tags,
		families: make(map[string]*family),
		sets:     make(map[string]*labelSet),
		series:   make(map[place]*series),
	}
	for i := range reserved {
		f := newFamily(reserved[i].metric, &reserved[i])
		f.kept = true
		t.families[f.name] = f
	}
	return t
}

func newFamily(name string, to *target) *family {
	return &family{name: name, help: to.help, kind: to.kind, desc: prometheus.NewDesc(name, to.help, nil, nil)}
}

// claim finds or makes the series of a statistic. A statistic that has taken one gives
// it back with release.
func (t *table) claim(to *target, statistic string) (*series, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := t.family(to)
	if err != nil {
		return nil, err
	}
	labels := shown(slices.Concat(to.labels, t.tags))
	at := place{f, t.set(labels)}
	if s := t.series[at]; s != nil {
		if s.shared && to.shared {
			s.users++
			return s, nil
		}
		labels = marked(labels, statistic)
		if at.labels = t.set(labels); t.series[at] != nil {
			return nil, fmt.Errorf("another statistic has the metric %s with the same labels", f.name)
		}
	}
	s := &series{place: at, shared: to.shared, users: 1, observer: newObserver(f, labels, to)}
	t.series[at], t.families[f.name], t.sets[at.labels.id] = s, f, at.labels
	f.series++
	at.labels.series++
	return s, nil
}

// set finds the set of some labels, or makes one that is not in the table yet.
func (t *table) set(labels []label) *labelSet {
	id := identity(labels)
	if known := t.sets[id]; known != nil {
		return known
	}
	return &labelSet{id: id, pairs: pairs(labels)}
}

func (t *table) release(s *series) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	delete(t.series, s.place)
	if s.labels.series--; s.labels.series == 0 {
		delete(t.sets, s.labels.id)
	}
	if s.family.series--; s.family.series == 0 && !s.family.kept {
		delete(t.families, s.family.name)
	}
}

// family finds the metric for a target, or makes one that is not in the table yet.
func (t *table) family(to *target) (*family, error) {
	name := to.metric
	for {
		f := t.families[name]
		if f != nil && f.kind == to.kind && !f.closed {
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

// clash finds the metric that a new one could not be told from in a scrape.
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

// writes tells whether metrics of the kind have lines with the suffix.
func (k kind) writes(suffix string) bool {
	return k == histogram || k == summary && suffix != "_bucket"
}

// close takes names that belong to others in the same scrape.
func (t *table) close(others []*dto.MetricFamily) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range others {
		t.families[o.GetName()] = &family{
			name: o.GetName(), kind: kind(strings.ToLower(o.GetType().String())), kept: true, closed: true,
		}
	}
}
