package manifest

import (
	"fmt"
	"log/slog"
	"strconv"
)

// masked stands for a secret wherever one would be printed.
const masked = "***"

// Value is text of a plan, which may be secret. Whatever prints or encodes one has
// *** for a secret: only [Value.Reveal] has the text. The zero Value is empty.
type Value struct {
	// Pointers, because package fmt prints the fields of what is in an unexported
	// field without asking the type, but never follows a pointer there.
	text, shown *string // shown is nil unless the value is secret
}

// plainValue is a value that may be shown.
func plainValue(text string) Value { return Value{text: &text} }

// secretValue is a value that is shown in another way.
func secretValue(text, shown string) Value { return Value{text: &text, shown: &shown} }

// Reveal returns the text itself, secret or not: for the process, the connection
// or the keyring that it is meant for.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsSecret says that the text is not to be shown.
func (v Value) IsSecret() bool { return v.shown != nil }

// String is the text, or what may be shown of a secret: "***", "--token=***".
func (v Value) String() string {
	if v.shown != nil {
		return *v.shown
	}
	return v.Reveal()
}

// GoString is String in quotes.
func (v Value) GoString() string { return strconv.Quote(v.String()) }

// Format is String under every verb: %d would print the fields otherwise.
func (v Value) Format(s fmt.State, verb rune) {
	switch verb {
	case 'v', 's', 'q', 'x', 'X':
		if verb == 'v' && s.Flag('#') {
			_, _ = fmt.Fprint(s, v.GoString())
			return
		}
		_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), v.String())
	default:
		_, _ = fmt.Fprint(s, v.String())
	}
}

// MarshalJSON is String as JSON.
func (v Value) MarshalJSON() ([]byte, error) { return appendString(nil, v.String()), nil }

// MarshalText is String, for encoders of other formats.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// LogValue is String, for package slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }
