package server

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// How much the page /topkeys shows.
const (
	topRules, maxTopRules = 100, 10_000
	topKeys, maxTopKeys   = 10, 64
)

// topPage is the page /topkeys (REFERENCE.md, 8.4).
type topPage struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Rules []topRule `json:"rules"` // those with the most hits first
}

type topRule struct {
	Rule       string   `json:"rule"` // domain and keys, as on /rlconfig; "limits from requests" for these
	Hits       uint64   `json:"hits"`
	Refusals   uint64   `json:"refusals"`
	ByHits     []topKey `json:"by_hits"`
	ByRefusals []topKey `json:"by_refusals"`
}

type topKey struct {
	Domain  string     `json:"domain,omitempty"` // of a limit from a request
	Entries []topEntry `json:"entries"`
	Count   uint64     `json:"count"`
	Error   uint64     `json:"error"` // by how much the true number may differ
}

type topEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// serveTopKeys lists the busiest keys of the busiest rules.
func (s *Server) serveTopKeys(w http.ResponseWriter, r *http.Request) {
	rules, err := countParameter(r, "rules", topRules, maxTopRules)
	keys, keysErr := countParameter(r, "keys", topKeys, maxTopKeys)
	if err = cmp.Or(err, keysErr); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	top := s.engine.TopKeys()
	if top == nil {
		http.Error(w, "the busiest keys are not counted: set TOP_KEYS=true", http.StatusNotFound)
		return
	}
	page := newTopPage(top, rules, keys)
	writePage(w, r, page, page.String())
}

// countParameter returns a number of the query, n if it is missing.
func countParameter(r *http.Request, name string, n, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return n, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s %q: use a number from 1 to %d", name, text, most)
	}
	return n, nil
}

func newTopPage(top *ratelimit.TopKeys, rules, keys int) *topPage {
	slices.SortStableFunc(top.Rules, func(a, b ratelimit.RuleKeys) int { return cmp.Compare(b.Hits, a.Hits) })
	page := &topPage{From: top.From.UTC(), To: top.To.UTC(), Rules: []topRule{}} // not null in JSON
	for i := range top.Rules[:min(rules, len(top.Rules))] {
		r := &top.Rules[i]
		page.Rules = append(page.Rules, topRule{
			Rule: topRuleName(r), Hits: r.Hits, Refusals: r.Refusals,
			ByHits: topKeysOf(r.ByHits, keys), ByRefusals: topKeysOf(r.ByRefusals, keys),
		})
	}
	return page
}

func topRuleName(r *ratelimit.RuleKeys) string {
	if r.Limit < 0 {
		return "limits from requests"
	}
	name := r.Domain
	for _, e := range r.Path {
		name = belowName(name, e.Key, e.Value)
	}
	return name
}

func topKeysOf(keys []ratelimit.KeyCount, most int) []topKey {
	out := []topKey{}
	for _, k := range keys[:min(most, len(keys))] {
		entries := []topEntry{}
		for _, e := range k.Entries {
			entries = append(entries, topEntry(e))
		}
		out = append(out, topKey{Domain: k.Domain, Entries: entries, Count: k.Count, Error: k.Error})
	}
	return out
}

// String returns the page as text. What clients sent is made printable.
func (p *topPage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hits from %s to %s\n", p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
	for i := range p.Rules {
		r := &p.Rules[i]
		fmt.Fprintf(&b, "\n%s: %d hits, %d refused\n", printable.String(r.Rule), r.Hits, r.Refusals)
		writeTopKeys(&b, "hits", r.ByHits)
		writeTopKeys(&b, "refused", r.ByRefusals)
	}
	return b.String()
}

func writeTopKeys(b *strings.Builder, what string, keys []topKey) {
	for _, k := range keys {
		number := strconv.FormatUint(k.Count, 10)
		if k.Error > 0 {
			number += fmt.Sprintf(" (±%d)", k.Error)
		}
		fmt.Fprintf(b, "  %s %s: %s\n", number, what, printable.String(k.text()))
	}
}

// text joins the entries of a key.
func (k *topKey) text() string {
	texts := make([]string, 0, len(k.Entries)+1)
	if k.Domain != "" {
		texts = append(texts, "domain "+k.Domain)
	}
	for _, e := range k.Entries {
		texts = append(texts, e.Key+"="+e.Value)
	}
	return strings.Join(texts, ", ")
}
