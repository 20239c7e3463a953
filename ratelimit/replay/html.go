package replay

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

//go:embed report.html
var page string

// maxCharts is how many rules have a chart on the page, the worst first.
const maxCharts = 50

// WriteHTML writes the report as one page with charts, which refers to nothing outside of it and has
// no script. The title is text, such as the name of the log.
func (r *Report) WriteHTML(w io.Writer, title string) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"count": count, "percent": percent, "instant": anyInstant, "smallest": smallest, "printable": printable.String,
		"change": func(p Pair) string { return change(over(p.Against), over(p.Rule)) },
		"over":   func(r *Rule) string { return count(over(r)) },
		"limit":  limitText,
		"either": Pair.either,
		"title":  (*Rule).title, "clients": (*Rule).showClients,
		"chart": newChart, "caveat": (*Report).caveat,
		"join": func(s []string) string { return printable.String(strings.Join(s, "; ")) },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		*Report
		Title  string
		Charts []*Rule
		More   int // rules without a chart
	}{r, printable.String(title), r.charted(), max(r.active()-maxCharts, 0)})
}

// caveat says what could not be found out about some algorithms.
func (r *Report) caveat() string {
	text := ""
	if r.counts(ratelimit.SlidingWindow) || r.counts(ratelimit.TokenBucket) || r.counts(ratelimit.Concurrency) {
		text = " " + sentence(algorithmCaveat)
	}
	if r.counts(ratelimit.Concurrency) {
		text += " " + sentence(concurrencyCaveat)
	}
	return text
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// anyInstant is instant for values too.
func anyInstant(t any) string {
	if v, ok := t.(time.Time); ok {
		return instant(&v)
	}
	p, _ := t.(*time.Time)
	return instant(p)
}

// active returns the number of rules that have requests.
func (r *Report) active() (n int) {
	for i := range r.Result.Rules {
		if r.Result.Rules[i].Requests > 0 {
			n++
		}
	}
	return n
}

// charted returns the rules with a chart.
func (r *Report) charted() (rules []*Rule) {
	for i := range r.Result.Rules {
		if rule := &r.Result.Rules[i]; rule.Requests > 0 && len(rules) < maxCharts {
			rules = append(rules, rule)
		}
	}
	return rules
}

func over(r *Rule) uint64 {
	if r == nil {
		return 0
	}
	return r.OverLimit
}

func limitText(r *Rule) string {
	if r == nil {
		return "-"
	}
	return r.LimitText()
}

// either returns the rule, or that of the other configuration if there is none.
func (p Pair) either() *Rule {
	if p.Rule == nil {
		return p.Against
	}
	return p.Rule
}

// chart is a series as bars.
type chart struct {
	Bars          int
	Allowed, Over string // paths of the bars, 100 high
	Most          uint64
	Each          string // the time of a bar
	From, To      time.Time
	Text          string // for people who can't see it
}

func newChart(s Series) chart {
	c := chart{Bars: max(len(s.Requests), 1), From: s.Start, Each: widthText(s.Seconds)}
	c.To = s.Start.Add(time.Duration(len(s.Requests)) * time.Duration(s.Seconds) * time.Second)
	total, refused := uint64(0), uint64(0)
	for i, n := range s.Requests {
		c.Most = max(c.Most, n)
		total, refused = total+n, refused+s.OverLimit[i]
	}
	var allowed, overs strings.Builder
	for i, n := range s.Requests {
		if n == 0 {
			continue
		}
		height := func(n uint64) float64 { return 100 * float64(n) / float64(c.Most) }
		top, part := height(n), height(s.OverLimit[i])
		if part > 0 {
			part = max(part, 1.5) // visible
			fmt.Fprintf(&overs, "M%d %.1fh1V%.1fh-1z", i, 100-max(top, part), 100-max(top, part)+part)
		}
		if top > part {
			fmt.Fprintf(&allowed, "M%d %.1fh1V100h-1z", i, 100-top+part)
		}
	}
	c.Allowed, c.Over = allowed.String(), overs.String()
	c.Text = fmt.Sprintf("%s requests, %s over the limit", count(total), count(refused))
	return c
}

// widthText returns a time such as "1 minute" or "34 minutes 8 seconds".
func widthText(seconds int64) string {
	var parts []string
	for _, u := range []struct {
		name    string
		seconds int64
	}{{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}} {
		if n := seconds / u.seconds; n > 0 && len(parts) < 2 {
			parts = append(parts, plural(uint64(n), u.name))
			seconds %= u.seconds
		}
	}
	return strings.Join(parts, " ")
}
