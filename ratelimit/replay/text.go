package replay

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxShown bounds the rules that are printed with their keys.
const maxShown = 20

// WriteText writes the report as tables for people. The form may change; programs read JSON.
// With color it has escape sequences for a terminal.
func (r *Report) WriteText(w io.Writer, color bool) error {
	t := &textWriter{color: color}
	t.log(r)
	t.printf("\n")
	if r.Against != nil {
		t.compare(r)
	} else {
		t.rules(r.Result.Rules)
	}
	t.caveats(r)
	shown := 0
	for i := range r.Result.Rules {
		rule := &r.Result.Rules[i]
		if rule.OverLimit == 0 {
			continue
		}
		if shown++; shown > maxShown {
			t.printf("\nkeys of more rules are not shown: use JSON for all\n")
			break
		}
		t.rule(rule)
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

type textWriter struct {
	b     bytes.Buffer
	color bool
}

func (t *textWriter) printf(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

// in returns text in a color: 31 is red, 32 green, 33 yellow, 1 bold.
func (t *textWriter) in(color, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (t *textWriter) log(r *Report) {
	t.printf("%s in format %s", plural(r.Lines, "line"), r.Format)
	if r.Requests > 0 {
		t.printf(" from %s to %s UTC", instant(&r.First), instant(&r.Last))
	}
	t.printf("\ndescriptors of domain %s: %s\n", printable.String(r.Domain), printable.String(strings.Join(r.Descriptors, "; ")))
	for _, key := range r.KeysWithoutField {
		t.printf("%s: no field for key %s: write a mapping to replay its rules\n", t.in("33", "warning"), printable.String(key))
	}
	if r.Unreadable > 0 {
		t.printf("%s: %s could not be read\n", t.in("33", "warning"), plural(r.Unreadable, "line"))
		for _, bad := range r.BadLines {
			t.printf("  line %d: %s\n", bad.Line, printable.String(bad.Reason))
		}
	}
	if r.Skipped > 0 {
		t.printf("%s without a descriptor\n", plural(r.Skipped, "line"))
	}
	if r.OutOfOrder > 0 {
		t.printf("%s older than a line before, decided at its own time\n", plural(r.OutOfOrder, "line"))
	}
	if r.Requests == 0 {
		t.printf("%s: no line has the fields of a descriptor: write a mapping\n", t.in("33", "warning"))
	}
	refused := fmt.Sprintf("%s would have been refused (%s)", count(r.Result.Refused), percent(r.Result.Refused, r.Requests))
	shade := "1;32"
	if r.Result.Refused > 0 {
		shade = "1;31"
	}
	t.printf("%s: %s, %s without a limit\n", plural(r.Requests, "request"), t.in(shade, refused), count(r.Result.Unlimited))
	if d := r.Difference; d != nil {
		t.printf("the other configuration refuses %s (%s): %s are refused only now, %s no longer\n", count(r.Against.Refused),
			percent(r.Against.Refused, r.Requests), t.in("1", count(d.OnlyResult)), t.in("1", count(d.OnlyAgainst)))
	}
}

// counts reports whether a limit was applied to requests whose algorithm has a property.
func (r *Report) counts(property func(ratelimit.Algorithm) bool) bool {
	for _, result := range []*Result{&r.Result, r.Against} {
		for i := 0; result != nil && i < len(result.Rules); i++ {
			rule := &result.Rules[i]
			if a, _ := ratelimit.ParseAlgorithm(rule.Algorithm); rule.Requests > 0 && property(a) {
				return true
			}
		}
	}
	return false
}

// caveats says what bounded memory has made inexact.
func (t *textWriter) caveats(r *Report) {
	for _, result := range []*Result{&r.Result, r.Against} {
		if result != nil && result.CountersDropped > 0 {
			t.printf("%s: %s were dropped for lack of memory: more requests may be over a limit\n", t.in("33", "warning"), plural(result.CountersDropped, "counter"))
		}
		if result != nil && result.KeysForgotten > 0 {
			t.printf("%s were forgotten: a key or client may have up to %s more requests over the limit than shown\n",
				plural(result.KeysForgotten, "key"), count(result.KeysMissing))
		}
	}
	if r.counts(ratelimit.Algorithm.HasPermits) {
		t.printf("%s: limits of requests at the same time refuse none here: a log does not tell when requests end\n", t.in("33", "warning"))
	}
	if r.counts(func(a ratelimit.Algorithm) bool { return a.NeedsChargeStore() && !a.HasPermits() }) {
		t.printf("the smallest limit that refuses none is found for fixed windows only\n")
	}
}

func (t *textWriter) rules(rules []Rule) {
	tab := t.table("limit\trequests\tover limit\t%\tsmallest limit\tfirst over limit\tlast over limit\t  rule\n")
	for i := range rules {
		r := &rules[i]
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", r.limitText(), count(r.Requests), count(r.OverLimit),
			percent(r.OverLimit, r.Requests), smallest(r.SmallestLimit), instant(r.FirstOver), instant(r.LastOver), r.title())
	}
	_ = tab.Flush() // into memory
}

func (t *textWriter) table(head string) *tabwriter.Writer {
	tab := tabwriter.NewWriter(&t.b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, head)
	return tab
}

// compare lists the rules of both configurations, matched by name.
func (t *textWriter) compare(r *Report) {
	tab := t.table("limit\tother limit\trequests\tover limit\tof the other\tchange\tsmallest limit\t  rule\n")
	row := func(either *Rule, limit, other string, over, otherOver uint64) {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", limit, other, count(either.Requests), count(over), count(otherOver),
			change(otherOver, over), smallest(either.SmallestLimit), either.title())
	}
	others := make(map[string]*Rule)
	for i := range r.Against.Rules {
		others[r.Against.Rules[i].Name] = &r.Against.Rules[i]
	}
	for i := range r.Result.Rules {
		rule := &r.Result.Rules[i]
		if other := others[rule.Name]; other != nil {
			row(rule, rule.limitText(), other.limitText(), rule.OverLimit, other.OverLimit)
			delete(others, rule.Name)
		} else {
			row(rule, rule.limitText(), "-", rule.OverLimit, 0)
		}
	}
	for i := range r.Against.Rules {
		if other := &r.Against.Rules[i]; others[other.Name] != nil {
			row(other, "-", other.limitText(), 0, other.OverLimit)
		}
	}
	_ = tab.Flush() // into memory
}

// rule prints the worst keys and clients of a rule.
func (t *textWriter) rule(r *Rule) {
	t.printf("\n%s: ", t.in("1", r.title()))
	if r.Algorithm == "" {
		t.printf("%s is the smallest limit that refuses none, because of %s in the %s from %s\n",
			count(r.SmallestLimit), printable.String(r.PeakKey), r.Unit, instant(r.PeakWindow))
	} else {
		t.printf("%s\n", r.limitText())
	}
	tab := t.table("requests\tover limit\tsmallest limit\tfirst over limit\tlast over limit\t  key\n")
	for i := range r.Keys {
		k := &r.Keys[i]
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t  %s\n", count(k.Requests), count(k.OverLimit), smallest(k.SmallestLimit), instant(k.FirstOver), instant(k.LastOver), printable.String(k.Name))
	}
	if r.showClients() {
		fmt.Fprint(tab, "\t\t\t\t\t  client\n")
		for i := range r.Clients {
			k := &r.Clients[i]
			fmt.Fprintf(tab, "\t%s\t\t%s\t%s\t  %s\n", count(k.OverLimit), instant(k.FirstOver), instant(k.LastOver), printable.String(k.Name))
		}
	}
	_ = tab.Flush() // into memory
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
	a, _ := ratelimit.ParseAlgorithm(r.Algorithm) // fixed_window for ""
	switch {
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

func change(before, after uint64) string {
	if after < before {
		return "-" + count(before-after)
	}
	return "+" + count(after-before)
}

func smallest(n uint64) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

func instant(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}
