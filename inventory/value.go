package inventory

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// operand reads the value of a filter.
func (f *Field) operand(op Op, s string) (any, error) {
	switch op {
	case IsNull:
		return parseBool(s)
	case Contains, StartsWith:
		return s, checkWords(s)
	case In:
		var values []any
		parts := strings.Split(s, ",")
		if len(parts) > maxIn {
			return nil, fmt.Errorf("may have at most %d values", maxIn)
		}
		for _, part := range parts {
			v, err := f.parse(part)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return values, nil
	}
	return f.parse(s)
}

// parse reads one value of the field.
func (f *Field) parse(s string) (any, error) {
	switch f.Kind {
	case Int:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errors.New("must be a whole number")
		}
		return n, nil
	case Float:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || n-n != 0 { // infinite, or not a number
			return nil, errors.New("must be a number")
		}
		return n, nil
	case Bool:
		return parseBool(s)
	case Time:
		return parseTime(s)
	}
	if err := checkWords(s); err != nil || f.Kind == List {
		return s, err
	}
	return f.canonical(s)
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, errors.New("must be true or false")
	}
	return s == "true", nil
}

func parseTime(s string) (any, error) {
	t, err := time.Parse(time.RFC3339, s)
	if t = instant(t); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return nil, errors.New("must be a timestamp such as 2026-01-31T12:00:00Z")
	}
	return t, nil
}

// checkWords looks at a text to look for. An empty one is refused: it is what a form sends
// that was not filled in.
func checkWords(s string) error {
	switch {
	case s == "":
		return errors.New("must not be empty: leave it out")
	case len(s) > maxValue || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("must be a text of at most %d bytes without control characters", maxValue)
	}
	return nil
}
