package stats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Snapshot is all statistics at a moment.
type Snapshot struct {
	Counters map[string]uint64
	Gauges   map[string]uint64
	Timers   map[string]Summary
}

// Snapshot reads everything, timers included.
func (r *Registry) Snapshot() Snapshot {
	s := Snapshot{Counters: map[string]uint64{}, Gauges: map[string]uint64{}, Timers: map[string]Summary{}}
	r.Read(collector{&s})
	for name, t := range r.catch().timers {
		s.Timers[name] = t.Summary()
	}
	return s
}

type collector struct{ s *Snapshot }

func (c collector) Counter(name string, total uint64) { c.s.Counters[name] = total }
func (c collector) Gauge(name string, value uint64)   { c.s.Gauges[name] = value }

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
		lines = append(lines, fmt.Sprintf("%s: count=%d mean=%s p50=%s p90=%s p99=%s max=%s\n",
			name, t.Count, ms(t.Mean()), ms(t.P50), ms(t.P90), ms(t.P99), ms(t.Max)))
	}
	slices.Sort(lines)
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3fms", milliseconds(d)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timerJSON is a Summary as JSON: durations are milliseconds.
type timerJSON struct {
	Count uint64  `json:"count"`
	Sum   float64 `json:"sum_ms"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// MarshalJSON writes {"counters": {}, "gauges": {}, "timers": {}}, each by name.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	timers := make(map[string]timerJSON, len(s.Timers))
	for name, t := range s.Timers {
		timers[name] = timerJSON{
			t.Count, milliseconds(t.Sum), milliseconds(t.Mean()),
			milliseconds(t.P50), milliseconds(t.P90), milliseconds(t.P99), milliseconds(t.Max),
		}
	}
	return json.Marshal(struct {
		Counters map[string]uint64    `json:"counters"`
		Gauges   map[string]uint64    `json:"gauges"`
		Timers   map[string]timerJSON `json:"timers"`
	}{s.Counters, s.Gauges, timers})
}

// ServeHTTP shows all statistics as text, or as JSON for "?format=json" or a client
// that accepts application/json. "?filter=<text>" leaves out names without the text,
// "?usedonly" counters that are still 0.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	query := req.URL.Query()
	s := r.Snapshot().filter(query.Get("filter"), query.Has("usedonly"))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch format := cmp.Or(query.Get("format"), accepted(req)); format {
	case "json":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s) // the client may be gone; there is no one left to tell
	case "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		s.WriteText(w) // likewise
	default:
		http.Error(w, fmt.Sprintf("format %q: use text or json", format), http.StatusBadRequest)
	}
}

func accepted(req *http.Request) string {
	if strings.Contains(req.Header.Get("Accept"), "application/json") {
		return "json"
	}
	return "text"
}

func (s Snapshot) filter(text string, usedOnly bool) Snapshot {
	lacks := func(name string) bool { return !strings.Contains(name, text) }
	maps.DeleteFunc(s.Counters, func(name string, n uint64) bool { return lacks(name) || usedOnly && n == 0 })
	maps.DeleteFunc(s.Gauges, func(name string, _ uint64) bool { return lacks(name) })
	maps.DeleteFunc(s.Timers, func(name string, t Summary) bool { return lacks(name) || usedOnly && t.Count == 0 })
	return s
}
