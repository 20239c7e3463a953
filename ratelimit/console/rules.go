package console

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// functions are those of the templates.
var functions = template.FuncMap{
	"rate": rateText, "size": sizeText, "tryURL": tryQuery, "entries": entriesText, "window": windowText,
	"sentence": sentence, "duration": durationText, "seconds": secondsText, "share": share,
	"algorithm": func(a ratelimit.Algorithm) string { return strings.ReplaceAll(a.String(), "_", " ") },
	"unix":      func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.DateTime) + " UTC" },
}

// rateText writes hits in a second.
func rateText(perSecond float32) string {
	switch v := float64(perSecond); {
	case v == 0:
		return "0"
	case v < 0.05:
		return "<0.1"
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
}

// sizeText writes a limit in short.
func sizeText(l *ratelimit.Limit) string {
	switch {
	case l == nil:
		return ""
	case l.Unlimited:
		return "unlimited"
	case l.Algorithm.HasPermits():
		return fmt.Sprintf("%d at the same time", l.RequestsPerUnit)
	}
	return fmt.Sprintf("%d per %s", l.RequestsPerUnit, l.Unit.Text(l.UnitMultiplier))
}

func entriesText(entries []ratelimit.Entry) string {
	return printable.Join(entries, ", ", func(e ratelimit.Entry) string { return e.Key + "=" + e.Value })
}

// tryQuery returns the query of the page to try requests for a descriptor.
func tryQuery(domain string, entries []ratelimit.Entry) template.URL {
	v := url.Values{"domain": {domain}}
	for i, e := range entries {
		v.Set(fieldName(0, i, "k"), e.Key)
		v.Set(fieldName(0, i, "v"), e.Value)
	}
	return template.URL(v.Encode()) // #nosec G203 -- encoded
}

// chip is a property of a rule in a word, with what it means.
type chip struct{ Text, Title string }

// chipsOf returns the fields of a rule that are set and that its size does not tell.
func chipsOf(fields []ratelimit.Field, r *ratelimit.Rule) []chip {
	var all []chip
	for i := range fields {
		f := &fields[i]
		switch text := f.Text(r); {
		case text == "" || f.Size:
		case f.Value.Kind == ratelimit.KindBool:
			all = append(all, chip{strings.ReplaceAll(f.Name, "_", " "), f.Doc})
		default:
			all = append(all, chip{strings.ReplaceAll(f.Name, "_", " ") + " " + text, f.Doc})
		}
	}
	if r.Limit == nil && len(r.Rules) == 0 {
		all = append(all, chip{"whitelisted", "Passes without being counted."})
	}
	return all
}

// overviewPage is the page of all rules.
type overviewPage struct {
	selection
	Flat    *list // nil if the rules are shown below each other
	Lists   []*list
	Domains []string // at most maxRows
	More    int      // domains beyond these
	Rules   int
	Limits  int
	Total   rate
	Since   time.Time // when the rates begin, zero if they reach back all the way
	Loaded  Load
	Counted bool // whether there are statistics
}

// selectionOf reads which rules to show.
func selectionOf(r *http.Request) (*selection, error) {
	q := r.URL.Query()
	s := &selection{Query: q.Get("q"), Domain: q.Get("domain"), Sort: q.Get("sort")}
	if len(s.Query) > maxQuery {
		return nil, httpx.Errorf(http.StatusBadRequest, "The filter is too long: use at most %d characters", maxQuery)
	}
	if _, ok := sorts[s.Sort]; !ok {
		return nil, httpx.Errorf(http.StatusBadRequest, "Unknown order: use allowed, near or refused")
	}
	s.Offset, _ = strconv.Atoi(q.Get("offset")) // 0 for anything else
	return s, nil
}

// overview lists the rules.
func (c *Console) overview(w http.ResponseWriter, r *http.Request) error {
	s, err := selectionOf(r)
	if err != nil {
		return err
	}
	c.rates.sample(c.engine, c.opts.Now())
	t := c.current()
	page := &overviewPage{
		selection: *s, Rules: len(t.byID), Limits: t.limits, More: max(0, len(t.domains)-maxRows), Loaded: c.opts.Load(),
	}
	page.Total, page.Since, page.Counted = c.rates.all()
	for _, d := range t.domains[:min(len(t.domains), maxRows)] {
		page.Domains = append(page.Domains, d.Name)
	}
	if s.Query != "" || s.Sort != "" {
		page.Flat = t.flat(s, &c.rates)
	} else {
		page.Lists = t.nested(s, &c.rates)
	}
	if ui.IsPart(r) {
		return c.part(w, r, "overview.html", "rules", page)
	}
	return c.page(w, r, http.StatusOK, "overview.html", "Rules", page)
}

// Next returns the query of the following rows.
func (p *overviewPage) Next(l *list) template.URL {
	v := url.Values{"q": {p.Query}, "sort": {p.Sort}, "domain": {l.Domain}, "offset": {strconv.Itoa(l.Offset + len(l.Rows))}}
	return template.URL(v.Encode()) // #nosec G203 -- encoded
}

// rateJSON is the rate of a rule: as texts, and the points of its lines.
type rateJSON struct {
	Allowed string `json:"allowed"`
	Near    string `json:"near"`
	Refused string `json:"refused"`
	// Lines has the values of the last minutes, the oldest first.
	Lines [][]float64 `json:"lines,omitempty"`
}

func newRateJSON(r rate) rateJSON {
	out := rateJSON{Allowed: rateText(r.Allowed), Near: rateText(r.Near), Refused: rateText(r.Refused)}
	if len(r.Points) > 0 {
		out.Lines = [][]float64{r.series(allowed), r.series(refused), r.series(near)}
	}
	return out
}

// ratesJSON returns the rates of the rules that the page shows: {"total": {}, "rules": {id: {}}}. Of rules without
// hits in the last minutes there are none.
func (c *Console) ratesJSON(w http.ResponseWriter, r *http.Request) error {
	c.rates.sample(c.engine, c.opts.Now())
	ids := strings.Split(r.URL.Query().Get("ids"), ",")
	total, _, _ := c.rates.all()
	out := struct {
		Total rateJSON            `json:"total"`
		Rules map[string]rateJSON `json:"rules"`
	}{newRateJSON(total), map[string]rateJSON{}}
	for _, id := range ids[:min(len(ids), maxRows)] {
		if rate, ok := c.rates.of(id); ok && len(rate.Points) > 0 {
			out.Rules[id] = newRateJSON(rate)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpx.WriteJSON(w, http.StatusOK, out)
}

// rulePageData is the page of a rule.
type rulePageData struct {
	row
	Above     []*node
	Below     []row
	BelowMore int
	Counts    *ratelimit.LimitCounts // since the start; nil if they are not counted by rule
	Trial     *ratelimit.LimitCounts // of the candidate
	Top       *ruleTop
	Quotas    []Assignment // at most maxRows
	MoreQuota int
}

// rulePage shows a rule.
func (c *Console) rulePage(w http.ResponseWriter, r *http.Request) error {
	c.rates.sample(c.engine, c.opts.Now())
	t := c.current()
	n := t.byID[r.PathValue("rule")]
	if n == nil {
		return errNoRule
	}
	page := &rulePageData{row: c.rates.row(n), Top: c.topOf(n)}
	c.setQuotas(page)
	for i := 1; i < len(n.Path); i++ {
		page.Above = append(page.Above, t.byID[ruleID(n.Domain, n.Path[:i])])
	}
	below := n.Rule.Rules[:min(len(n.Rule.Rules), maxRows)]
	page.BelowMore = len(n.Rule.Rules) - len(below)
	for i := range below {
		id := ruleID(n.Domain, append(slices.Clone(n.Path), ratelimit.Entry{Key: below[i].Key, Value: below[i].Value}))
		page.Below = append(page.Below, c.rates.row(t.byID[id]))
	}
	page.Counts, page.Trial = c.rates.counts(n.ID)
	return c.page(w, r, http.StatusOK, "rule.html", n.Name(), page)
}

var errNoRule = httpx.Errorf(http.StatusNotFound, "There is no such rule: the configuration may have changed")

// topKeys responds with the busiest keys of a rule, for htmx.
func (c *Console) topKeys(w http.ResponseWriter, r *http.Request) error {
	n := c.current().byID[r.PathValue("rule")]
	if n == nil {
		return errNoRule
	}
	page := &rulePageData{row: row{node: n}, Top: c.topOf(n)}
	c.setQuotas(page)
	return c.part(w, r, "rule.html", "top-keys", page)
}

// setQuotas sets the assignments of the rule, those with the most tokens first.
func (c *Console) setQuotas(page *rulePageData) {
	if c.opts.Assignments == nil {
		return
	}
	all, count := c.opts.Assignments(page.Domain, page.Path, maxRows)
	slices.SortStableFunc(all, func(a, b Assignment) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), strings.Compare(entriesText(a.Bucket), entriesText(b.Bucket)), strings.Compare(a.Client, b.Client))
	})
	page.Quotas, page.MoreQuota = all, count-len(all)
}

// maxKeys bounds the keys of a rule that are shown.
const maxKeys = 10

// ruleTop is the busiest keys of a rule.
type ruleTop struct {
	*ratelimit.TopKeys
	Rule *ratelimit.RuleKeys // nil without hits
}

// topOf returns the busiest keys of a rule, nil if they are not counted.
func (c *Console) topOf(n *node) *ruleTop {
	all := c.engine.TopKeys()
	if all == nil {
		return nil
	}
	top := &ruleTop{TopKeys: all}
	for i := range all.Rules {
		k := &all.Rules[i]
		if k.Limit >= 0 && k.Domain == n.Domain && slices.Equal(k.Path, n.Path) {
			k.ByHits, k.ByRefusals = k.ByHits[:min(len(k.ByHits), maxKeys)], k.ByRefusals[:min(len(k.ByRefusals), maxKeys)]
			top.Rule = k
		}
	}
	return top
}

// windowText writes the length of a window.
func windowText(l *ratelimit.Limit) string {
	text := l.Unit.Text(l.UnitMultiplier)
	if l.UnitMultiplier <= 1 {
		text = "1 " + text
	}
	return text
}
