package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// format is a form in which lists are sent (REFERENCE.md, 2.12).
type format struct {
	name  string             // of the parameter format, and the suffix of files
	types []string           // media types; the first one is sent
	rows  func() encode.Rows // nil for the pages in JSON
}

// formatParameter is the parameter that names a format.
const formatParameter = "format"

// keysParameter says whether exports have ids or natural keys.
const keysParameter = "keys"

// formats returns the formats; the first is the default. Errors are a form of JSON too, so a client that
// accepts these only gets JSON.
func formats() []*format {
	return []*format{
		{"json", []string{"application/json", "application/problem+json", openapi.PartType}, nil},
		{"csv", []string{"text/csv"}, encode.CSV},
		{"jsonl", []string{"application/x-ndjson", "application/jsonl", "application/ndjson", "application/x-jsonlines"}, encode.JSONLines},
		{"yaml", []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}, encode.YAML},
	}
}

// exporting describes the formats of a list.
func (op *operation) exporting() {
	r := op.doc.List
	if r == nil {
		return
	}
	op.doc.Responses = slices.Clone(op.doc.Responses)
	op.doc.Errors = append(op.doc.Errors, http.StatusNotAcceptable)
	op.doc.Responses = append(op.doc.Responses,
		openapi.Response{Status: http.StatusOK, ContentType: "text/csv", Schema: openapi.String("A line with the names of the fields, and one for each record.")},
		openapi.Response{Status: http.StatusOK, ContentType: "application/x-ndjson", Schema: openapi.String("A record in JSON on each line.")},
		openapi.Response{Status: http.StatusOK, ContentType: "application/yaml", Schema: openapi.Array(openapi.Object(""), 0, 0)}) // of records
	if _, taken := r.Field(keysParameter); !taken {
		op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
			Name: keysParameter, Schema: &openapi.Schema{Name: "ExportKeys", Type: "string", Enum: []any{"id", "natural"}},
			Description: "natural: an export has the fields that clients can set, with natural keys in place of ids, so that an import creates the records again.",
		})
	}
	if _, taken := r.Field(formatParameter); taken {
		return
	}
	names := openapi.String("").Named("ExportFormat")
	for _, f := range formats() {
		names.Enum = append(names.Enum, f.name)
	}
	op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
		Name: formatParameter, Schema: names,
		Description: "The format, instead of the header Accept. Others than json have all records that match, unless page, limit or cursor is given.",
	})
}

// format returns the format that the client wants. The parameter counts more than Accept; of a resource
// with a field of that name it is a filter.
func (c *call) format(r *records.Resource) (*format, error) {
	all := formats()
	if _, taken := r.Field(formatParameter); !taken && c.query.Has(formatParameter) {
		var names []string
		for _, f := range all {
			if f.name == c.query.Get(formatParameter) {
				return f, nil
			}
			names = append(names, f.name)
		}
		return nil, badField(formatParameter, records.NotOneOf("", names...))
	}
	accept := c.r.Header["Accept"]
	if len(accept) == 0 || len(accept) == 1 && (accept[0] == "*/*" || accept[0] == all[0].types[0] || accept[0] == "") {
		return all[0], nil
	}
	best, bestQ, bestMatch := (*format)(nil), 0, 0
	for _, f := range all {
		for _, t := range f.types {
			if q, match := accepted(accept, t); q > bestQ || q == bestQ && q > 0 && match > bestMatch {
				best, bestQ, bestMatch = f, q, match
			}
		}
	}
	if best == nil {
		var types []string
		for _, f := range all {
			types = append(types, f.types[0])
		}
		return nil, httpx.Errorf(http.StatusNotAcceptable, "The list has no format that Accept allows: use %s, or the parameter %s", strings.Join(types, ", "), formatParameter)
	}
	return best, nil
}

// accepted returns the q-value in thousandths that the lines of an Accept header give a media type, and how
// specific the range is that it is from: 3 for the type, 2 for one such as text/*, 1 for */*, 0 for none
// (RFC 9110, section 12.5.1).
func accepted(lines []string, mediaType string) (q, match int) {
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			is := 0
			switch strings.ToLower(strings.TrimSpace(name)) {
			case mediaType:
				is = 3
			case kind + "/*":
				is = 2
			case "*/*":
				is = 1
			}
			if is > match {
				q, match = weight(parameters), is
			}
		}
	}
	return q, match
}

// weight returns the parameter q in thousandths, 1000 without a valid one.
func weight(parameters string) int {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return int(q * 1000)
		}
	}
	return 1000
}
