package settings

import "reflect"

// Entry is a setting with the value that is in effect.
type Entry struct {
	Variable
	// Value is as one would write it. A secret is ***, and so is what stands before
	// the host in a URL.
	Value string
	// Origin is "default", or "environment, as <variable>".
	Origin string
}

// Effective lists all settings with their values, in the order of Table. What is
// worked out from other settings, such as BACKEND_TYPE, has the result. It works
// for an environment with errors too: values that are wrong are as they are.
func Effective(environ map[string]string) []Entry {
	r := read(environ)
	entries := make([]Entry, len(r.rows))
	for i := range r.rows {
		row := &r.rows[i]
		entries[i] = Entry{Variable: row.Variable, Value: r.show(row), Origin: "default"}
		if name := r.spelled[row.Name]; name != "" {
			entries[i].Origin = "environment, as " + name
		}
	}
	return entries
}

// show is the value of a row, fit for a log.
func (r *reading) show(row *row) string {
	text := row.Default
	if name := r.spelled[row.Name]; name != "" {
		text = r.environ[name]
	}
	if v := row.field(r.settings); v.Kind() == reflect.String && !r.bad[row.Name] {
		text = v.String()
	}
	if row.Secret && text != "" {
		return hidden
	}
	if row.tag.Get("secret") == "url" {
		return maskUser(text)
	}
	return text
}
