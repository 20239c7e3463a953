package change

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// A stored value is a string in forms: a text or an id as it is, a number and a time as in JSON, "true" or
// "false", the elements of a list a line each, an object as JSON, and "" for no value.

// stored returns the value of a field of a record.
func stored(f *records.Field, value any) string {
	if list, ok := value.([]any); ok {
		lines := make([]string, len(list))
		for i, e := range list {
			lines[i] = site.Text(e)
		}
		return strings.Join(lines, "\n")
	}
	if f.Kind == records.Object && value != nil {
		encoded, _ := json.MarshalIndent(value, "", "  ") // decoded JSON can be encoded
		return string(encoded)
	}
	return site.Text(value)
}

// localTime is the form of times in fields of browsers, which have no zone: forms are in UTC.
const localTime = "2006-01-02T15:04:05"

// shown returns a stored value as an input has it.
func shown(f *records.Field, value string) string {
	if t, ok := parseTime(value); ok && f.Kind == records.Time {
		return t.Format(localTime)
	}
	if f.Kind == records.Bool && !f.Nullable && value == "" {
		return "false"
	}
	return value
}

// parseTime reads a time of the API or of a browser, which leaves out seconds that are zero.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, localTime, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// same reports whether what was typed is a stored value. Inputs do not show fractions of seconds.
func same(f *records.Field, typed, value string) bool {
	switch f.Kind {
	case records.List:
		return slices.Equal(elements(typed, value), elements(value, value))
	case records.Time:
		a, isTime := parseTime(typed)
		b, wasTime := parseTime(value)
		return isTime == wasTime && a.Truncate(time.Second).Equal(b.Truncate(time.Second))
	case records.Bool:
		return typed == value || !f.Nullable && typed != "true" && value != "true"
	case records.Object:
		return compact(typed) == compact(value)
	}
	return typed == value
}

// compact returns JSON without spaces, and other texts as they are.
func compact(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}

// elements returns the elements of a list that was typed: on lines of their own or between commas. An
// element of the list before may have a comma.
func elements(typed, before string) []string {
	old := strings.Split(before, "\n")
	var all []string
	add := func(e string) {
		if e = strings.TrimSpace(e); e != "" {
			all = append(all, e)
		}
	}
	for line := range strings.SplitSeq(typed, "\n") {
		if slices.Contains(old, line) {
			add(line)
			continue
		}
		for e := range strings.SplitSeq(line, ",") {
			add(e)
		}
	}
	return all
}

// number is a number of JSON.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// encode returns what was typed as the API takes it. What has another form is sent as a text, so that the API
// says what it expects. before is the value of the field until now.
func encode(f *records.Field, typed, before string) any {
	if f.Kind == records.List {
		return slices.Concat([]string{}, elements(typed, before))
	}
	if typed == "" {
		if f.Kind == records.Text && !f.Nullable {
			return ""
		}
		return nil
	}
	switch f.Kind {
	case records.Int, records.Float:
		if number.MatchString(typed) {
			return json.Number(typed)
		}
	case records.Bool:
		if b, err := strconv.ParseBool(typed); err == nil {
			return b
		}
	case records.Time:
		if t, ok := parseTime(typed); ok {
			return t.Format(time.RFC3339Nano)
		}
	case records.Object:
		if json.Valid([]byte(typed)) {
			return json.RawMessage(typed)
		}
	}
	return typed
}

// clean returns a value of a form as it was typed: browsers send CR LF for a line break. Blanks around values
// that have a format do not count.
func clean(f *records.Field, value string) string {
	value = strings.ReplaceAll(value, "\r\n", "\n")
	if f.WriteOnly || f.Kind == records.Text && (f.Format == "" || f.Format == "line" || f.Format == "text" || f.Format == "enum") {
		return value
	}
	return strings.TrimSpace(value)
}
