package server

import (
	"fmt"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longestProfile is how long a profile or trace may be taken.
const longestProfile = 5 * time.Minute

// profileIndex lists the profiles of the runtime, or serves the one that is named:
// /debug/pprof/heap, in the form that `go tool pprof` reads, or as text with ?debug=1.
func profileIndex(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
	if name == "" {
		listProfiles(w)
		return
	}
	p := pprof.Lookup(name)
	if p == nil {
		http.Error(w, fmt.Sprintf("no profile %q: see /debug/pprof/", name), http.StatusNotFound)
		return
	}
	debug, _ := strconv.Atoi(r.URL.Query().Get("debug"))
	if debug == 0 {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	} else {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	p.WriteTo(w, debug) // the client may be gone; there is no one left to tell
}

func listProfiles(w http.ResponseWriter) {
	lines := []string{"/debug/pprof/profile?seconds=30\n", "/debug/pprof/trace?seconds=1\n"}
	for _, p := range pprof.Profiles() {
		lines = append(lines, fmt.Sprintf("/debug/pprof/%s?debug=1: %d\n", p.Name(), p.Count()))
	}
	slices.Sort(lines)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, strings.Join(lines, ""))
}

func cpuProfile(w http.ResponseWriter, r *http.Request) {
	record(w, r, 30*time.Second, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
}

func executionTrace(w http.ResponseWriter, r *http.Request) {
	record(w, r, time.Second, func() error { return trace.Start(w) }, trace.Stop)
}

// record takes a profile for as long as the request says, or until its client goes.
// The runtime takes one at a time.
func record(w http.ResponseWriter, r *http.Request, d time.Duration, start func() error, stop func()) {
	if text := r.URL.Query().Get("seconds"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds <= longestProfile.Seconds()) {
			http.Error(w, fmt.Sprintf("seconds %q: use a number above 0, at most %v", text, longestProfile.Seconds()), http.StatusBadRequest)
			return
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := start(); err != nil {
		http.Error(w, "another profile is being taken: "+err.Error(), http.StatusConflict)
		return
	}
	defer stop()
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}
