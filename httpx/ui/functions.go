package ui

import (
	"errors"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// functions are the functions of templates that need no kit.
var functions = template.FuncMap{
	"dict": dict, "list": func(values ...any) []any { return values },
	"ago": Ago, "time": stamp, "count": Count, "percent": percent, "tone": Tone,
	"spark": spark, "icon": icon, "join": strings.Join, "add": func(a, b int) int { return a + b },
	"default": func(instead, value any) any {
		if truth, _ := template.IsTrue(value); truth {
			return value
		}
		return instead
	},
}

// dict returns its arguments as a map, for templates with several: dict "label" .Label "value" 7.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: needs pairs of a name and a value")
	}
	all := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: the name %v is no string", pairs[i])
		}
		all[name] = pairs[i+1]
	}
	return all, nil
}

// Ago says how long ago a time was, in the largest unit.
func Ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d, form := time.Since(t), "%d %s ago"
	if d < 0 {
		d, form = -d, "in %d %s"
	}
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * 365 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d >= u.of {
			return fmt.Sprintf(form, d/u.of, u.name)
		}
	}
	return "now"
}

// stamp is a time as people read it, in UTC.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// Count writes a number with thin spaces between thousands.
func Count(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	if strings.Trim(digits, "0123456789") != "" {
		return sign + digits
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// percent returns part of a whole in percent, between 0 and 100.
func percent(part, whole float64) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return math.Min(100, 100*part/whole)
}

// tones are the meanings of common states, for colours.
var tones = map[string]string{
	"active": "good", "up": "good", "ok": "good", "online": "good", "healthy": "good", "closed": "good", "info": "info", "allowed": "good",
	"create": "good", "planned": "info", "reserved": "info", "maintenance": "warn", "warning": "warn", "degraded": "warn", "near": "warn",
	"high": "warn", "medium": "info", "connected": "good", "staged": "info", "unknown": "idle", "update": "info", "half-open": "warn", "major": "warn", "minor": "info",
	"offline": "bad", "down": "bad", "critical": "bad", "error": "bad", "failed": "bad", "open": "bad", "delete": "bad", "refused": "bad",
	"decommissioned": "idle", "inactive": "idle", "disabled": "idle",
}

// Tone returns the meaning of a state: good, warn, bad, info, or idle for others. Badges have its colour,
// and always the state in words as well.
func Tone(state any) string {
	if t := tones[strings.ToLower(fmt.Sprint(state))]; t != "" {
		return t
	}
	return "idle"
}

// spark draws values as a line of 120 by 28 units. The highest value touches the top; a line of zeros is
// at the bottom. label says in words what it shows.
func spark(label string, values []float64) template.HTML {
	const width, height = 120.0, 28.0
	top := 0.0
	for _, v := range values {
		top = math.Max(top, v)
	}
	var points strings.Builder
	for i, v := range values {
		x, y := width, height-1
		if len(values) > 1 {
			x = width * float64(i) / float64(len(values)-1)
		}
		if top > 0 {
			y = height - 1 - (height-3)*math.Max(0, v)/top
		}
		points.WriteString(strconv.FormatFloat(x, 'f', 1, 64) + "," + strconv.FormatFloat(y, 'f', 1, 64) + " ")
	}
	return template.HTML(`<svg class="spark" viewBox="0 0 120 28" role="img" aria-label="` + template.HTMLEscapeString(label) + // #nosec G203 -- numbers and escaped text
		`" preserveAspectRatio="none"><polyline points="` + strings.TrimSpace(points.String()) + `"/></svg>`)
}
