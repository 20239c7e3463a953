package server

import (
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
)

// debugHandler serves the pages of the debug port (REFERENCE.md, 8.4), and a list of them at
// /. Other paths respond 404 with the list.
func (s *Server) debugHandler() http.Handler {
	mux := http.NewServeMux()
	var lines []string
	for _, p := range []struct {
		path, help string
		handle     http.HandlerFunc
	}{
		{"/debug/pprof/", "profiles of this process, listed", profileIndex},
		{"/debug/pprof/profile", "CPU profile: ?seconds=30", record(30*time.Second, pprof.StartCPUProfile, pprof.StopCPUProfile)},
		{"/debug/pprof/trace", "execution trace: ?seconds=1", record(time.Second, trace.Start, trace.Stop)},
		{"/healthz", "health of each part, 503 unless all are healthy", s.serveHealth},
		{"/rlconfig", "active limits, sorted; ?format=json", httpx.HandlerFunc(s.serveRules).ServeHTTP},
		{"/stats", "statistics, sorted; ?format=json, ?filter=TEXT, ?usedonly", s.registry.ServeHTTP},
		{"/topkeys", "busiest keys of each rule in the last two minutes; ?format=json, ?rules=100, ?keys=10", httpx.HandlerFunc(s.serveTopKeys).ServeHTTP},
	} {
		mux.Handle("GET "+p.path, p.handle)
		lines = append(lines, p.path+": "+p.help+"\n")
	}
	if s.console != nil {
		pages := http.StripPrefix(consolePath, s.console)
		mux.Handle("GET "+consolePath+"/", pages)
		mux.Handle("POST "+consolePath+"/", pages)
		lines = append(lines, consolePath+"/: rules with live rates, health and configuration, for browsers\n")
	}
	slices.Sort(lines)
	index := []byte(strings.Join(lines, ""))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(index)
	})
	return mux
}

// serveHealth lists the components with the reasons that they have reported.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	status, text := http.StatusOK, ""
	for _, c := range s.Components() {
		state := "healthy"
		if !c.Healthy {
			status, state = http.StatusServiceUnavailable, "unhealthy"
		}
		text += fmt.Sprintf("%s: %s since %s: %s\n", c.Name, state, c.Since.UTC().Format(time.RFC3339), printable.String(c.Reason))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// maxProfile limits the duration of a profile or trace.
const maxProfile = 5 * time.Minute

// profileIndex lists the profiles of the runtime, or serves one of them, such as
// /debug/pprof/heap, in the format of go tool pprof, or as text with ?debug=1.
func profileIndex(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if name == "" {
		lines := []string{"/debug/pprof/profile?seconds=30\n", "/debug/pprof/trace?seconds=1\n"}
		for _, p := range pprof.Profiles() {
			lines = append(lines, fmt.Sprintf("/debug/pprof/%s?debug=1: %d\n", p.Name(), p.Count()))
		}
		slices.Sort(lines)
		fmt.Fprint(w, strings.Join(lines, ""))
		return
	}
	p := pprof.Lookup(name)
	if p == nil {
		http.Error(w, fmt.Sprintf("unknown profile %q: see /debug/pprof/", name), http.StatusNotFound)
		return
	}
	debug, _ := strconv.Atoi(r.URL.Query().Get("debug"))
	if debug == 0 {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	}
	_ = p.WriteTo(w, debug)
}

// record returns a page that records a profile for the requested time, d by default, or until the client
// disconnects. The runtime records one at a time.
func record(d time.Duration, start func(io.Writer) error, stop func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := d
		if text := r.URL.Query().Get("seconds"); text != "" {
			seconds, err := strconv.ParseFloat(text, 64)
			if err != nil || !(seconds > 0 && seconds <= maxProfile.Seconds()) {
				http.Error(w, fmt.Sprintf("seconds %q: use a number above 0, at most %v", text, maxProfile.Seconds()), http.StatusBadRequest)
				return
			}
			d = time.Duration(seconds * float64(time.Second))
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		if err := start(w); err != nil {
			http.Error(w, "another profile is being recorded: "+err.Error(), http.StatusConflict)
			return
		}
		defer stop()
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

// ruleLine is a limit on the page /rlconfig. Rules without a limit are omitted
// (REFERENCE.md, 8.4).
type ruleLine struct {
	key    string // domain and keys, separated by dots
	domain string
	rule   *ratelimit.Rule
	keys   []string // of the path
	bucket []string // what a bucket of quotas needs; nil without QUOTA_ENABLED and if there are none
}

// text returns the line of the reference service, with the fields that it does not have after
// requests_per_unit.
func (l *ruleLine) text(fields []ratelimit.Field) string {
	added := ""
	for i := range fields {
		if v := fields[i].Text(l.rule); v != "" && fields[i].Extension {
			added += " " + fields[i].Name + "=" + printable.String(v)
		}
	}
	if l.bucket != nil {
		added += " bucket_id=" + printable.String(strings.Join(l.bucket, "+"))
	}
	return fmt.Sprintf("%s: unit=%s requests_per_unit=%d%s, shadow_mode: %t, quota_mode: %t\n", printable.String(l.key),
		strings.ToUpper(l.rule.Limit.Unit.String()), l.rule.Limit.RequestsPerUnit, added, l.rule.ShadowMode, l.rule.QuotaMode)
}

// members returns the members of the line in JSON: the fields that are set, and some always.
func (l *ruleLine) members(fields []ratelimit.Field) map[string]any {
	m := map[string]any{"requests_per_unit": 0, "unlimited": false, "shadow_mode": false, "quota_mode": false, "share_threshold": false}
	for i := range fields {
		if v := fields[i].Of(l.rule); v != nil {
			m[fields[i].Name] = v
		}
	}
	if l.bucket != nil {
		m["bucket_id"] = l.bucket
	}
	m["key"], m["domain"] = l.key, l.domain
	m["unit"] = strings.ToUpper(l.rule.Limit.Unit.String()) // UNKNOWN if unlimited
	return m
}

// serveRules lists the active limits, sorted by key.
func (s *Server) serveRules(w http.ResponseWriter, r *http.Request) error {
	var lines []ruleLine
	for _, d := range s.engine.Rules().Source() {
		lines = appendRules(lines, d.Name, d.Name, nil, d.Rules)
	}
	// Stable, so that rules of equal keys, which only patterns can have, keep their order.
	slices.SortStableFunc(lines, func(a, b ruleLine) int { return strings.Compare(a.key, b.key) })
	limits := make([]map[string]any, len(lines)) // not null in JSON
	var text strings.Builder
	for i := range lines {
		l := &lines[i]
		if keys := slices.Compact(slices.Sorted(slices.Values(l.keys))); s.quota != nil && len(keys) == len(l.keys) && explain.Assignable(l.rule.Limit) {
			l.bucket = l.keys
		}
		limits[i] = lines[i].members(s.fields)
		text.WriteString(lines[i].text(s.fields))
	}
	return httpx.WritePage(w, r, map[string]any{"limits": limits}, text.String())
}

func appendRules(lines []ruleLine, domain, above string, keys []string, rules []ratelimit.Rule) []ruleLine {
	for i := range rules {
		r := &rules[i]
		key, keys := belowName(above, r.Key, r.Value), append(slices.Clone(keys), r.Key)
		if r.Limit != nil {
			lines = append(lines, ruleLine{key, domain, r, keys, nil})
		}
		lines = appendRules(lines, domain, key, keys, r.Rules)
	}
	return lines
}
