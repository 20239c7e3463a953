package replay

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

//go:embed report.txt.tmpl
var reportText string

// maxShown bounds the rules that are printed with their keys.
const maxShown = 20

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"plural": plural, "count": count, "percent": percent, "number": smallest, "instant": instant, "line": printable.String, "join": strings.Join,
	"title": (*Rule).title, "limit": (*Rule).limitText, "algorithm": (*Rule).algorithm, "showClients": (*Rule).showClients, "maxShown": func() int { return maxShown },
}).Parse(reportText))

// WriteText writes the report as tables for people. The form may change; programs read JSON.
// With color it has escape sequences for a terminal.
func (r *Report) WriteText(w io.Writer, color bool) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if err := reportTemplate.Execute(tab, reportData{r, color}); err != nil {
		return err
	}
	return tab.Flush()
}

// reportData is a report for the template.
type reportData struct {
	*Report
	color bool
}

// In returns text in a color: 31 is red, 32 green, 33 yellow, 1 bold.
func (d reportData) In(color, text string) string {
	if !d.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Warning returns the word before a warning.
func (d reportData) Warning() string { return d.In("33", "warning") }

// Results returns the results of both configurations.
func (d reportData) Results() []*Result {
	if d.Against == nil {
		return []*Result{&d.Result}
	}
	return []*Result{&d.Result, d.Against}
}

// OverLimit returns the rules with requests over the limit.
func (d reportData) OverLimit() (rules []*Rule) {
	for i := range d.Result.Rules {
		if d.Result.Rules[i].OverLimit > 0 {
			rules = append(rules, &d.Result.Rules[i])
		}
	}
	return rules
}

// comparedRule is a rule of either configuration or of both.
type comparedRule struct {
	*Rule
	Limit, Other    string
	Over, OtherOver uint64
}

// Change returns by how much the requests over the limit have changed.
func (c comparedRule) Change() string {
	if c.Over < c.OtherOver {
		return "-" + count(c.OtherOver-c.Over)
	}
	return "+" + count(c.Over-c.OtherOver)
}

// Compared returns the rules of both configurations, matched by name.
func (d reportData) Compared() (rows []comparedRule) {
	others := make(map[string]*Rule)
	for i := range d.Against.Rules {
		others[d.Against.Rules[i].Name] = &d.Against.Rules[i]
	}
	for i := range d.Result.Rules {
		r := &d.Result.Rules[i]
		row := comparedRule{r, r.limitText(), "-", r.OverLimit, 0}
		if other := others[r.Name]; other != nil {
			row.Other, row.OtherOver = other.limitText(), other.OverLimit
			delete(others, r.Name)
		}
		rows = append(rows, row)
	}
	for i := range d.Against.Rules {
		if r := &d.Against.Rules[i]; others[r.Name] != nil {
			rows = append(rows, comparedRule{r, "-", r.limitText(), 0, r.OverLimit})
		}
	}
	return rows
}

// showClients reports whether the clients are not the keys once more.
func (r *Rule) showClients() bool {
	for i := range r.Clients {
		if i >= len(r.Keys) || r.Keys[i].OverLimit != r.Clients[i].OverLimit || !strings.HasSuffix(r.Keys[i].Name, "="+r.Clients[i].Name) {
			return true
		}
	}
	return false
}

// title is the name, with the modes of the rule.
func (r *Rule) title() string {
	name := printable.String(r.Name)
	if r.ShadowMode {
		name += " (shadow mode)"
	}
	if r.QuotaMode {
		name += " (quota mode)"
	}
	return name
}

// limitText returns the limit as "20/minute", or "unlimited", with the algorithm if it is another
// than fixed_window: "20/minute sliding", "20/minute, burst 5" or "20 at the same time".
func (r *Rule) limitText() string {
	text := count(uint64(r.Limit)) + "/" + r.Unit
	switch a := r.algorithm(); {
	case r.Unlimited:
		return "unlimited"
	case a.HasPermits():
		return count(uint64(r.Limit)) + " at the same time"
	case a.HasBursts():
		return text + ", burst " + count(uint64(r.Burst))
	case a.NeedsChargeStore():
		return text + " sliding"
	}
	return text
}

func (r *Rule) algorithm() ratelimit.Algorithm {
	a, _ := ratelimit.ParseAlgorithm(r.Algorithm) // fixed_window for ""
	return a
}

// count formats a number with commas.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}

func percent(part, all uint64) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(all))
}

func smallest(n uint64) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}
