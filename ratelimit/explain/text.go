package explain

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

//go:embed explanation.txt.tmpl
var explanationText string

var explanationTemplate = template.Must(template.New("explanation").Funcs(template.FuncMap{
	"plain": plain, "pair": pairText, "rule": ruleText, "requests": requests, "window": window, "length": length, "indices": indices, "instant": instant,
	"words":  func(name string) string { return strings.ReplaceAll(name, "_", " ") },
	"next":   func(i int) int { return i + 1 },
	"isBool": func(f ratelimit.Field) bool { return f.Value.Kind == ratelimit.KindBool },
	"listed": func(f ratelimit.Field) bool { return !f.Size && f.Value.Kind != ratelimit.KindNames }, // others are in the result and below
}).Parse(explanationText))

// String is the explanation as text for people: some lines per descriptor, indented
// by level. Keys and values that hold anything but plain text are quoted, so it may
// be shown in a terminal whatever the request holds. The wording may change; programs
// read the fields.
func (x *Explanation) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if err := explanationTemplate.Execute(t, x); err != nil {
		return err.Error()
	}
	_ = t.Flush() // writing to a strings.Builder never fails
	return b.String()
}

func requests(n uint32) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// length is window with a number before the unit.
func length(l *ratelimit.Limit) string {
	if l.UnitMultiplier <= 1 {
		return "1 " + window(l)
	}
	return window(l)
}

// window returns the length of a window in words.
func window(l *ratelimit.Limit) string {
	text := l.Unit.Text(l.UnitMultiplier)
	if l.Align == ratelimit.AlignCalendar {
		text += " of the calendar in " + cmp.Or(l.TimeZone, "UTC")
	}
	return text
}

func indices(descriptors []int) string {
	return printable.Join(descriptors, ", ", func(i int) string { return fmt.Sprintf("descriptors[%d]", i) })
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
