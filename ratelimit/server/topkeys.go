package server

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
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
	*ratelimit.TopKeys
	Rules []topRule `json:"rules"` // those with the most hits first
}

type topRule struct {
	Rule string `json:"rule"` // domain and keys, as on /rlconfig; "limits from requests" for these
	*ratelimit.RuleKeys
}

// serveTopKeys lists the busiest keys of the busiest rules.
func (s *Server) serveTopKeys(w http.ResponseWriter, r *http.Request) error {
	rules, err := countParameter(r, "rules", topRules, maxTopRules)
	keys, keysErr := countParameter(r, "keys", topKeys, maxTopKeys)
	if err = cmp.Or(err, keysErr); err != nil {
		return err
	}
	top := s.engine.TopKeys()
	if top == nil {
		return httpx.Errorf(http.StatusNotFound, "the busiest keys are not counted: set TOP_KEYS=true")
	}
	page := newTopPage(top, rules, keys)
	return httpx.WritePage(w, r, page, page.String())
}

// countParameter returns a number of the query, n if it is missing.
func countParameter(r *http.Request, name string, n, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return n, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, httpx.Errorf(http.StatusBadRequest, "%s %q: use a number from 1 to %d", name, text, most)
	}
	return n, nil
}

func newTopPage(top *ratelimit.TopKeys, rules, keys int) *topPage {
	slices.SortStableFunc(top.Rules, func(a, b ratelimit.RuleKeys) int { return cmp.Compare(b.Hits, a.Hits) })
	top.From, top.To = top.From.UTC(), top.To.UTC()
	page := &topPage{TopKeys: top, Rules: []topRule{}} // not null in JSON
	for i := range top.Rules[:min(rules, len(top.Rules))] {
		r := &top.Rules[i]
		for _, list := range []*[]ratelimit.KeyCount{&r.ByHits, &r.ByRefusals} {
			*list = append([]ratelimit.KeyCount{}, (*list)[:min(keys, len(*list))]...)
		}
		page.Rules = append(page.Rules, topRule{topRuleName(r), r})
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

// String returns the page as text. What clients sent is made printable.
func (p *topPage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hits from %s to %s\n", p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "\n%s: %d %s, %d refused\n", printable.String(r.Rule), r.Hits, noun(r.Hits, "hits"), r.Refusals)
		writeTopKeys(&b, "hits", r.ByHits)
		writeTopKeys(&b, "refused", r.ByRefusals)
	}
	return b.String()
}

// noun returns the word after a number, given the one for several.
func noun(n uint64, several string) string {
	if n == 1 {
		return strings.TrimSuffix(several, "s")
	}
	return several
}

func writeTopKeys(b *strings.Builder, what string, keys []ratelimit.KeyCount) {
	for _, k := range keys {
		number := strconv.FormatUint(k.Count, 10)
		if k.Error > 0 {
			number += fmt.Sprintf(" (±%d)", k.Error)
		}
		text := printable.Join(k.Entries, ", ", func(e ratelimit.Entry) string { return e.Key + "=" + e.Value })
		if k.Domain != "" {
			text = strings.TrimSuffix("domain "+k.Domain+", "+text, ", ")
		}
		fmt.Fprintf(b, "  %s %s: %s\n", number, noun(k.Count, what), printable.String(text))
	}
}
