package httpx

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text is a [Field.Parse] for strings. An empty one is refused: it is what a form sends
// that was not filled in.
func Text(s string) (any, error) {
	if s == "" {
		return nil, errors.New("must not be empty: leave it out")
	}
	return s, nil
}

// Int is a [Field.Parse] for an int64.
func Int(s string) (any, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, errors.New("must be a whole number")
	}
	return n, nil
}

// Bool is a [Field.Parse] for true and false.
func Bool(s string) (any, error) {
	if s != "true" && s != "false" {
		return nil, errors.New("must be true or false")
	}
	return s == "true", nil
}

// Timestamp is a [Field.Parse] for a time.Time, which it returns in UTC.
func Timestamp(s string) (any, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, errors.New("must be a timestamp such as 2026-01-31T12:00:00Z")
	}
	return t.UTC(), nil
}

// OneOf makes a [Field.Parse] for strings of a list.
func OneOf(allowed ...string) func(string) (any, error) {
	return func(s string) (any, error) {
		if !slices.Contains(allowed, s) {
			return nil, errors.New("must be one of " + strings.Join(allowed, ", "))
		}
		return s, nil
	}
}
