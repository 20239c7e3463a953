package records

import (
	"errors"
	"slices"
	"strings"
)

// Enum is a string type with a fixed set of values. The empty string is no value.
type Enum interface {
	~string
	// Values returns all values, in lower case.
	Values() []string
}

// ParseEnum parses a value of an enumeration, ignoring case. The error lists the values.
func ParseEnum[E Enum](s string) (E, error) {
	var e E
	value, err := oneOf(e.Values(), s)
	return E(value), err
}

func oneOf(values []string, s string) (string, error) {
	value := strings.ToLower(s)
	if !slices.Contains(values, value) {
		return "", errors.New("must be one of " + strings.Join(values, ", "))
	}
	return value, nil
}
