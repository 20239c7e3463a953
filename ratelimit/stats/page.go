package stats

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

// Snapshot holds all statistics as they were at one moment, by name.
type Snapshot struct {
	Counters map[string]uint64  `json:"counters"`
	Gauges   map[string]uint64  `json:"gauges"`
	Timers   map[string]Summary `json:"timers"`
}

// Snapshot reads all statistics, timers included.
func (r *Registry) Snapshot() Snapshot {
	s := Snapshot{Counters: map[string]uint64{}, Gauges: map[string]uint64{}, Timers: map[string]Summary{}}
	r.Read(snapshotReader(s))
	for name, t := range r.Timers() {
		s.Timers[name] = t.Summary()
	}
	return s
}

type snapshotReader Snapshot

func (s snapshotReader) Counter(name string, total uint64) { s.Counters[name] = total }
func (s snapshotReader) Gauge(name string, value uint64)   { s.Gauges[name] = value }

// WriteText writes a line "<name>: <value>" for each statistic, sorted by name. The
// value of a timer is its summary, in milliseconds.
func (s Snapshot) WriteText(w io.Writer) error {
	lines := make([]string, 0, len(s.Counters)+len(s.Gauges)+len(s.Timers))
	for _, numbers := range []map[string]uint64{s.Counters, s.Gauges} {
		for name, n := range numbers {
			lines = append(lines, fmt.Sprintf("%s: %d\n", name, n))
		}
	}
	for name, t := range s.Timers {
		m := t.milliseconds()
		lines = append(lines, fmt.Sprintf("%s: count=%d mean=%.3fms p50=%.3fms p90=%.3fms p99=%.3fms max=%.3fms\n",
			name, m.Count, m.Mean, m.P50, m.P90, m.P99, m.Max))
	}
	slices.Sort(lines)
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}

// timerPage is a Summary as the page shows it, in milliseconds.
type timerPage struct {
	Count uint64  `json:"count"`
	Sum   float64 `json:"sum_ms"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

func (s Summary) milliseconds() timerPage {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return timerPage{s.Count, ms(s.Sum), ms(s.Mean()), ms(s.P50), ms(s.P90), ms(s.P99), ms(s.Max)}
}

// MarshalJSON writes the durations in milliseconds.
func (s Summary) MarshalJSON() ([]byte, error) { return json.Marshal(s.milliseconds()) }

// ServeHTTP shows all statistics as text, or as JSON for "?format=json" or a client
// that accepts application/json. "?filter=<string>" omits names without the string,
// "?usedonly" counters and timers that are still 0.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	query, s := req.URL.Query(), r.Snapshot()
	lacks := func(name string) bool { return !strings.Contains(name, query.Get("filter")) }
	usedOnly := query.Has("usedonly")
	maps.DeleteFunc(s.Counters, func(name string, n uint64) bool { return lacks(name) || usedOnly && n == 0 })
	maps.DeleteFunc(s.Gauges, func(name string, _ uint64) bool { return lacks(name) })
	maps.DeleteFunc(s.Timers, func(name string, t Summary) bool { return lacks(name) || usedOnly && t.Count == 0 })
	var text strings.Builder
	_ = s.WriteText(&text) // into memory
	if err := httpx.WritePage(w, req, s, text.String()); err != nil {
		httpx.WriteError(w, req, err)
	}
}
