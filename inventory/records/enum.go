package records

import (
	"slices"
	"strings"
)

// Enum is a string type with a fixed set of values. The empty string is no value.
type Enum interface {
	~string
	// Values returns all values, in lower case.
	Values() []string
}

// ParseEnum parses a value of an enumeration, ignoring case, spaces, hyphens and underscores:
// lower-layer-down is lowerLayerDown of RFC 2863. The error lists the values.
func ParseEnum[E Enum](s string) (E, error) {
	var e E
	value, err := oneOf(e.Values(), s)
	return E(value), err
}

func oneOf(values []string, s string) (string, error) {
	value := squeeze(s)
	i := slices.IndexFunc(values, func(v string) bool { return squeeze(v) == value })
	if i < 0 {
		return "", NotOneOf(s, values...)
	}
	return values[i], nil
}

// squeeze lowers a value and removes the separators of its words.
func squeeze(s string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" -_", c) {
			return -1
		}
		return c
	}, strings.ToLower(s))
}
