package server

import (
	"net/http"
	"slices"
	"strings"
)

// debugPaths is what the debug port serves (specification, "Debug port").
func (s *Server) debugPaths() []debugPath {
	return []debugPath{
		{"/debug/pprof/", "profiles of this process, listed", http.HandlerFunc(profileIndex)},
		{"/debug/pprof/profile", "where the processor's time goes: ?seconds=30", http.HandlerFunc(cpuProfile)},
		{"/debug/pprof/trace", "execution trace: ?seconds=1", http.HandlerFunc(executionTrace)},
		{"/rlconfig", "the limits in use, sorted; ?format=json", http.HandlerFunc(s.serveRules)},
		{"/stats", "statistics, sorted; ?format=json, ?filter=TEXT, ?usedonly", s.registry},
	}
}

type debugPath struct {
	path, help string
	handler    http.Handler
}

// debugHandler serves debugPaths, and a list of them at / and, with 404, elsewhere.
func (s *Server) debugHandler() http.Handler {
	mux := http.NewServeMux()
	var lines []string
	for _, p := range s.debugPaths() {
		mux.Handle(p.path, p.handler)
		lines = append(lines, p.path+": "+p.help+"\n")
	}
	slices.Sort(lines)
	index := []byte(strings.Join(lines, ""))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write(index) // the client may be gone; there is no one left to tell
	})
	return mux
}
