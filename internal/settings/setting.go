package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Setting is a row of a table of settings.
type Setting struct {
	Name    string   // the environment variable; empty if only a flag sets it
	Aliases []string // other variables with the same meaning
	Flag    string   // the command-line flag without the dash; empty for none
	Default string   // as a user would write it; empty for none
	Doc     string   // what the setting does, on one line
	Group   string   // heading above this row and those that follow until the next Group
	Secret  bool     // the value is never shown
	URL     bool     // what precedes an "@" is never shown
	Empty   bool     // an empty variable is a value; otherwise it counts as unset
	Value   Value
}

// id is the name by which a Reading refers to the setting.
func (s *Setting) id() string {
	if s.Name == "" {
		return "-" + s.Flag
	}
	return s.Name
}

// names returns the variables of the setting, Name first.
func (s *Setting) names() []string { return append([]string{s.Name}, s.Aliases...) }

// Value parses a string and stores the result in a field of the program's settings. Its
// errors name the problem and what is accepted.
type Value struct {
	parse func(text string) error
	text  *string // the field, if it is a string: shown in place of what was written
}

// Parse parses text and stores the result.
func (v Value) Parse(text string) error { return v.parse(text) }

// Func returns a Value for a parser of the program's own, which must not change anything
// if it fails.
func Func(parse func(text string) error) Value { return Value{parse: parse} }

// Text stores any string that passes the checks.
func Text(p *string, checks ...func(string) error) Value {
	hidden := Hidden(p, checks...)
	return Value{text: p, parse: func(text string) error {
		if err := hidden.parse(text); err != nil {
			return fmt.Errorf("%s %w", Quote(text), err)
		}
		return nil
	}}
}

// Hidden is Text with errors that do not show the string.
func Hidden(p *string, checks ...func(string) error) Value {
	return Value{text: p, parse: func(text string) error {
		for _, check := range checks {
			if err := check(text); err != nil {
				return err
			}
		}
		*p = text
		return nil
	}}
}

// List stores comma-separated items that pass the checks. A blank string is an empty list.
func List(p *[]string, checks ...func(string) error) Value {
	return Func(func(text string) error {
		var items []string
		if strings.TrimSpace(text) != "" {
			items = Split(text)
		}
		for i, item := range items {
			if err := Hidden(new(string), checks...).parse(item); err != nil {
				return fmt.Errorf("%s %w", QuoteItem(items, i), err)
			}
		}
		*p = items
		return nil
	})
}

// Networks stores comma-separated networks; an address is a network of one.
func Networks(p *[]netip.Prefix) Value {
	return Func(func(text string) error {
		var networks []netip.Prefix
		for _, item := range Split(text) {
			network, err := netip.ParsePrefix(item)
			if addr, e := netip.ParseAddr(item); e == nil {
				network, err = netip.PrefixFrom(addr.WithZone(""), addr.BitLen()), nil
			}
			if err != nil {
				return fmt.Errorf("%s is not a network: use one such as 10.0.0.0/8 or fd00::/8", Quote(item))
			}
			networks = append(networks, network.Masked())
		}
		*p = networks
		return nil
	})
}

// Split splits at commas and trims the items. It returns at least one.
func Split(text string) []string {
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// OneOf stores one of the words, whatever the case of the string. A word may have synonyms
// after "=": "WARN=WARNING" accepts both and stores WARN.
func OneOf(p *string, words ...string) Value {
	canonical, known := make([]string, len(words)), map[string]string{}
	for i, word := range words {
		synonyms := strings.Split(word, "=")
		canonical[i] = synonyms[0]
		for _, synonym := range synonyms {
			known[strings.ToLower(synonym)] = synonyms[0]
		}
	}
	last := len(words) - 1
	return Value{text: p, parse: func(text string) error {
		word, ok := known[strings.ToLower(text)]
		if !ok {
			return fmt.Errorf("unknown value %s: use %s or %s", Quote(text), strings.Join(canonical[:last], ", "), canonical[last])
		}
		*p = word
		return nil
	}}
}

// Bool stores true or false, in the spellings of strconv.ParseBool.
func Bool(p *bool) Value {
	return scalar(p, strconv.ParseBool, Bounds[bool]{}, "a boolean", "use true or false")
}

// Int stores a whole number within bounds, in the syntax of Go: 10 or 0x10.
func Int[N int | int64](p *N, bounds Bounds[N]) Value {
	parse := func(text string) (N, error) {
		n, err := strconv.ParseInt(text, 0, 64)
		if err == nil && int64(N(n)) != n {
			err = strconv.ErrRange
		}
		return N(n), err
	}
	return scalar(p, parse, bounds, "a whole number", "use a whole number"+bounds.words)
}

// Float stores a number within bounds.
func Float[N float32 | float64](p *N, bounds Bounds[N]) Value {
	parse := func(text string) (N, error) {
		f, err := strconv.ParseFloat(text, 64)
		return N(f), err
	}
	return scalar(p, parse, bounds, "a number", "use a number"+bounds.words)
}

// Duration stores a duration within bounds, in the syntax of time.ParseDuration.
func Duration(p *time.Duration, bounds Bounds[time.Duration]) Value {
	return scalar(p, time.ParseDuration, bounds, "a duration", "use a duration"+bounds.words+", such as 30s or 1m30s")
}

func scalar[N any](p *N, parse func(string) (N, error), bounds Bounds[N], kind, advice string) Value {
	return Func(func(text string) error {
		v, err := parse(text)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && bounds.within != nil && !bounds.within(v):
			return fmt.Errorf("%s is out of range: %s", Quote(text), advice)
		case err != nil:
			return fmt.Errorf("%s is not %s: %s", Quote(text), kind, advice)
		}
		*p = v
		return nil
	})
}

// Bounds limit a number or a duration. The zero value limits nothing.
type Bounds[N any] struct {
	within func(N) bool
	words  string // what to add to "use a number"
}

type number interface {
	int | int64 | float32 | float64 | time.Duration
}

// From accepts low to high. NaN is within no bounds.
func From[N number](low, high N) Bounds[N] {
	return Bounds[N]{func(n N) bool { return n >= low && n <= high }, " from " + show(low) + " to " + show(high)}
}

// AtLeast accepts low and more.
func AtLeast[N number](low N) Bounds[N] {
	return Bounds[N]{func(n N) bool { return n >= low }, " of at least " + show(low)}
}

// AtMost accepts high and less.
func AtMost[N number](high N) Bounds[N] {
	return Bounds[N]{func(n N) bool { return n <= high }, " of at most " + show(high)}
}

// Above accepts more than low.
func Above[N number](low N) Bounds[N] {
	return Bounds[N]{func(n N) bool { return n > low }, " above " + show(low)}
}

// AboveUpTo accepts more than low, up to high.
func AboveUpTo[N number](low, high N) Bounds[N] {
	return Bounds[N]{func(n N) bool { return n > low && n <= high }, " above " + show(low) + ", up to " + show(high)}
}

// show formats a bound: 24h, not 24h0m0s.
func show[N number](n N) string { return strings.Replace(fmt.Sprint(n), "h0m0s", "h", 1) }
