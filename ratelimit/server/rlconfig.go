package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// ruleLine is one limit as /rlconfig shows it. Rules without a limit are not shown
// (reference 1.13).
type ruleLine struct {
	Key             string   `json:"key"` // domain and keys, with dots between them
	Domain          string   `json:"domain"`
	Unit            string   `json:"unit"` // UNKNOWN for an unlimited one
	RequestsPerUnit uint32   `json:"requests_per_unit"`
	Unlimited       bool     `json:"unlimited"`
	Name            string   `json:"name,omitempty"`
	Replaces        []string `json:"replaces,omitempty"`
	ShadowMode      bool     `json:"shadow_mode"`
	QuotaMode       bool     `json:"quota_mode"`
	ShareThreshold  bool     `json:"share_threshold"`
}

func (l *ruleLine) String() string {
	return fmt.Sprintf("%s: unit=%s requests_per_unit=%d, shadow_mode: %t, quota_mode: %t\n",
		l.Key, l.Unit, l.RequestsPerUnit, l.ShadowMode, l.QuotaMode)
}

// serveRules shows the limits in use, sorted by key.
func (s *Server) serveRules(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	lines := s.ruleLines()
	switch format := cmp.Or(r.URL.Query().Get("format"), accepted(r)); format {
	case "json":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string][]ruleLine{"limits": lines}) // the client may be gone; there is no one left to tell
	case "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for i := range lines {
			fmt.Fprint(w, &lines[i])
		}
	default:
		http.Error(w, fmt.Sprintf("format %q: use text or json", format), http.StatusBadRequest)
	}
}

func accepted(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		return "json"
	}
	return "text"
}

func (s *Server) ruleLines() []ruleLine {
	lines := []ruleLine{} // not null in JSON
	if domains := s.domains.Load(); domains != nil {
		for _, d := range *domains {
			lines = appendRules(lines, d.Name, d.Name, d.Rules)
		}
	}
	// Stable, so that rules of equal keys, which only patterns can have, keep their order.
	slices.SortStableFunc(lines, func(a, b ruleLine) int { return strings.Compare(a.Key, b.Key) })
	return lines
}

func appendRules(lines []ruleLine, domain, above string, rules []ratelimit.Rule) []ruleLine {
	for i := range rules {
		r := &rules[i]
		key := above + "." + r.Key
		if r.Value != "" {
			key += "_" + r.Value
		}
		if r.Limit != nil {
			lines = append(lines, ruleLine{
				Key: key, Domain: domain,
				Unit:            strings.ToUpper(r.Limit.Unit.String()),
				RequestsPerUnit: r.Limit.RequestsPerUnit,
				Unlimited:       r.Limit.Unlimited,
				Name:            r.Limit.Name, Replaces: r.Limit.Replaces,
				ShadowMode: r.ShadowMode, QuotaMode: r.QuotaMode, ShareThreshold: r.ShareThreshold,
			})
		}
		lines = appendRules(lines, domain, key, r.Rules)
	}
	return lines
}
