package site

import (
	"regexp"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// The words of the API that people who fill in a form do not know: names of fields and resources, and the forms of JSON. What
// stands in quotation marks is a value, and stays, unless it is an id.
var (
	apiWords = regexp.MustCompile(`"[^"]*"| \(` + uuid + `\)|(,? (with|by|of) the id)? ?` + uuid + `|[a-z][a-z0-9]*([_-][a-z0-9]+)+(\.[a-z_]+)*|\[\d+\]\.`)
	ids      = regexp.MustCompile(`"?` + uuid + `"?`)
	phrases  = strings.NewReplacer(
		"a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "a record of the list", "an array of strings", "a list of texts", "an array", "a list",
		"a JSON object", "names with values", "an object, not null", "names with values", "the JSON", "the form", "JSON", "text",
		"must be meta.next_cursor of the previous page of this list, or empty to start", "belongs to another list: start with the first page",
	)
	filters  = regexp.MustCompile(`(?s)is an unknown (filter|query parameter).*`)
	byObject = regexp.MustCompile(`(: name one by )?an object with [a-z_, -]*(, or (by )?(an )?id)?`)
)

const uuid = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// Words returns what the API says in the words of pages: with the labels of fields, and without ids.
func Words(schema *records.Schema, text string) string {
	text = filters.ReplaceAllString(phrases.Replace(text), "is no filter of this list: choose one of the filters")
	text = byObject.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == ':' {
			return ": choose one of the list"
		}
		return "the name of a record"
	})
	return apiWords.ReplaceAllStringFunc(text, func(word string) string {
		if ids.MatchString(word) || word[0] == '[' {
			return ""
		}
		name, _, _ := strings.Cut(word, ".")
		if r, ok := schema.Named(word); ok {
			return Plural(r)
		}
		for _, r := range schema.Resources() {
			f, ok := r.ByMember(name)
			if !ok {
				f, ok = r.Field(name)
			}
			if ok {
				return Lower(FieldLabel(f))
			}
		}
		return word
	})
}

// ParameterWords returns the name of a parameter of a list of a resource, such as "last_seen__lt", in the words of pages.
func ParameterWords(r *records.Resource, name string) string {
	base, _, _ := strings.Cut(name, "__")
	if f, ok := r.Field(base); ok && !f.Hidden {
		return FieldLabel(f)
	}
	return `"` + name + `"`
}

// inWords writes a fault in the words of pages. The names of its fields stay, so that pages find them.
func (f *Fault) inWords(schema *records.Schema) {
	f.Message = Words(schema, f.Message)
	for i := range f.Fields {
		f.Fields[i].Reason = Words(schema, f.Fields[i].Reason)
	}
	for i, item := range f.Items {
		f.Items[i].Message = Words(schema, item.Message)
		for n := range item.Errors {
			item.Errors[n].Reason = Words(schema, item.Errors[n].Reason)
		}
	}
}
