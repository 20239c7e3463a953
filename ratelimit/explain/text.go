package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// String is the explanation as text for people: some lines per descriptor, indented
// by level. Keys and values that hold anything but plain text are quoted, so it may
// be shown in a terminal whatever the request holds. The wording may change; programs
// read the fields.
func (x *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "domain %s%s\n", plain(x.Domain), x.unknownDomain())
	for i := range x.Descriptors {
		x.Descriptors[i].write(&b, i)
	}
	return b.String()
}

func (x *Explanation) unknownDomain() string {
	switch {
	case x.Configured:
		return ""
	case len(x.Domains) == 0:
		return ": not configured; no domain is"
	}
	known := make([]string, len(x.Domains))
	for i, d := range x.Domains {
		known[i] = plain(d)
	}
	text := ": not configured; known: " + strings.Join(known, ", ")
	if x.DomainsLeftOut > 0 {
		text += fmt.Sprintf(" and %d more", x.DomainsLeftOut)
	}
	return text
}

func (d *Descriptor) write(b *strings.Builder, index int) {
	pairs := make([]string, len(d.Levels))
	for i := range d.Levels {
		pairs[i] = pairText(d.Levels[i].Key, d.Levels[i].Value)
	}
	fmt.Fprintf(b, "\ndescriptors[%d]: %s\n", index, strings.Join(pairs, ","))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range d.Levels {
		if l := &d.Levels[i]; l.Reached {
			fmt.Fprintf(t, "  level %d: %s\n", i+1, pairs[i])
			l.write(t)
		}
	}
	fmt.Fprintf(t, "  result: %s\n", d.result())
	if d.Limit != nil {
		d.Limit.write(t)
	}
	_ = t.Flush() // writing to a strings.Builder never fails
}

func (l *Level) write(t *tabwriter.Writer) {
	for i := range l.Tried {
		a := &l.Tried[i]
		if i == len(l.Tried)-1 && l.TriedLeftOut > 0 {
			fmt.Fprintf(t, "    %s\t%d more\tdo not match\n", ByWildcard, l.TriedLeftOut)
		}
		rule, verdict := ruleText(a.Key, a.Value), "no such rule"
		if a.Way == ByExactValue {
			rule = pairText(a.Key, a.Value)
		}
		if a.Matched {
			verdict = "matches"
		} else if a.Configured {
			verdict = "does not match"
		}
		fmt.Fprintln(t, strings.TrimSuffix(fmt.Sprintf("    %s\t%s\t%s\t%s", a.Way, rule, verdict, a.Position), "\t"))
	}
	for _, m := range l.NearMisses {
		fmt.Fprintf(t, "    near miss\t%s\t%s\n", ruleText(m.Key, m.Value), m.Why)
	}
}

func (d *Descriptor) result() string {
	switch {
	case d.Outcome == OutcomeLimit:
		return d.Limit.size() + ": " + d.Reason
	case d.Outcome == OutcomeReplaced:
		return "replaced, so no limit: " + d.Reason
	}
	return string(d.Outcome) + ": " + d.Reason
}

func (l *Limit) size() string {
	n := requests(l.Limit.RequestsPerUnit)
	switch {
	case l.Limit.Unlimited:
		return "unlimited"
	case l.Limit.Algorithm.HasWindows() && l.Limit.Algorithm.NeedsChargeStore():
		return n + " in a sliding window of " + l.length()
	case l.Limit.Algorithm.HasBursts():
		return fmt.Sprintf("a bucket of %s, refilled with %d per %s",
			requests(cmp.Or(l.Limit.Burst, l.Limit.RequestsPerUnit)), l.Limit.RequestsPerUnit, l.window())
	case l.Limit.Algorithm.HasPermits():
		return "at most " + n + " at the same time"
	}
	return n + " per " + l.window()
}

func requests(n uint32) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// length is window with a number before the unit.
func (l *Limit) length() string {
	if l.Limit.UnitMultiplier <= 1 {
		return "1 " + l.window()
	}
	return l.window()
}

// window returns the length of a window in words.
func (l *Limit) window() string {
	text := l.Limit.Unit.Text(l.Limit.UnitMultiplier)
	if l.Limit.Align == ratelimit.AlignCalendar {
		text += " of the calendar in " + cmp.Or(l.Limit.TimeZone, "UTC")
	}
	return text
}

func (l *Limit) write(t *tabwriter.Writer) {
	row := func(name, text string) { fmt.Fprintf(t, "    %s\t%s\n", strings.ReplaceAll(name, "_", " "), text) }
	if l.ReplacedBy != nil {
		row("would be", l.size())
		row("replaced by", indices(l.ReplacedBy))
	}
	for _, f := range l.Fields {
		switch {
		case f.Size || f.Value.Kind == ratelimit.KindNames: // in the result, and below
		case f.Value.Kind == ratelimit.KindBool:
			row(f.Name, f.Doc)
		default:
			row(f.Name, plain(f.Text(&l.Rule)))
		}
	}
	for _, r := range l.Replaces {
		row("replaces", plain(r.Name)+": "+cmp.Or(indices(r.Descriptors), "nothing in this request"))
	}
	if l.CounterKey == "" {
		return
	}
	if l.Limit.Algorithm.HasPermits() {
		row("held", "for "+l.length()+" if it is not released")
	}
	row("counter", plain(l.CounterKey))
	if l.WindowEnd != 0 {
		row("window", instant(l.WindowStart)+" to "+instant(l.WindowEnd))
	}
	row("statistics", plain(l.StatisticsKey))
}

func indices(descriptors []int) string {
	texts := make([]string, len(descriptors))
	for i, d := range descriptors {
		texts[i] = fmt.Sprintf("descriptors[%d]", d)
	}
	return strings.Join(texts, ", ")
}

func instant(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02T15:04:05Z") }

// pairText is an entry of a request.
func pairText(key, value string) string { return plain(key) + "=" + plain(value) }

// ruleText formats the rule that an entry is compared with.
func ruleText(key, value string) string {
	if value == "" {
		return plain(key)
	}
	return pairText(key, value)
}

// plain quotes what would not be plain in a line of text.
func plain(s string) string {
	odd := func(c rune) bool {
		return c == utf8.RuneError || !unicode.IsPrint(c) || strings.ContainsRune(` ,"`, c)
	}
	if s == "" || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}
