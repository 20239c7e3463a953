package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of an export. It reads pages of as many records as have about a quarter of a mebibyte.
const (
	firstExportPage = 128
	minExportPage   = 16
	maxExportPage   = 2048
	exportPageBytes = 256 << 10
	exportMemory    = 1 << 20 // of the budget for requests
	exportChunk     = 64 << 10

	maxExports          = 16
	maxExportsPerCaller = 4
)

// lister returns the records of a query.
type lister = func(context.Context, *records.Query) (*records.Page, error)

// pageOf reports whether the parameters of a list ask for a page of it.
func pageOf(query url.Values) bool {
	return query.Has("page") || query.Has("limit") || query.Has("cursor")
}

// export returns the response with all records of a query, or with one page of them, in a format. Each page of what it
// reads waits for its turn as a heavy query, and the client takes its time between them.
func (c *call) export(q *records.Query, f *format, list lister) *feature.Response {
	return &feature.Response{Send: func(w http.ResponseWriter, _ *http.Request) error { return c.sendExport(w, q, f, list) }}
}

func (c *call) sendExport(w http.ResponseWriter, q *records.Query, f *format, list lister) error {
	leave, err := c.api.heavy.exports.enter(c.heavyCaller())
	if err != nil {
		return err
	}
	defer leave()
	if err := httpx.Reserve(c.r.Context(), exportMemory); err != nil {
		return err
	}
	c.endless()
	x := c.exportOf(q, list)
	if x.natural, err = c.naturalKeys(q.Resource); err != nil {
		return err
	}
	page, err := x.next()
	if err != nil {
		return err
	}
	if err := c.noteRead(q.Resource); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", f.types[0])
	if f.name == "csv" {
		h.Set("Content-Type", f.types[0]+"; charset=utf-8; header=present")
	}
	h.Set("Content-Disposition", `attachment; filename="`+q.Resource.Name+`.`+f.name+`"`)
	w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := x.send(w, page, f.rows()); err != nil {
		if !errors.Is(err, errClientGone) && !errors.Is(c.r.Context().Err(), context.Canceled) {
			c.api.opts.Log.ErrorContext(c.r.Context(), "export ended before its end", "resource", q.Resource.Name,
				"request_id", httpx.RequestIDFrom(c.r.Context()), "error", err)
		}
		panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
	}
	return nil
}

// naturalKeys reports whether an export has natural keys in place of ids. The sender may have to read the
// records that others refer to.
func (c *call) naturalKeys(r *records.Resource) (bool, error) {
	if _, taken := r.Field(keysParameter); taken || !c.query.Has(keysParameter) {
		return false, nil
	}
	switch c.query.Get(keysParameter) {
	case "id":
		return false, nil
	case "natural":
	default:
		return false, badField(keysParameter, records.NotOneOf("", "id", "natural"))
	}
	for _, f := range r.Fields() {
		if f.Member == "" {
			continue
		}
		if err := c.mayUse(f.Ref.Resource(), records.RouteList); err != nil {
			return false, err
		}
	}
	return true, nil
}

// exporter reads the records of a query page by page, each after the last record of the one before.
type exporter struct {
	*call
	q       *records.Query
	list    lister
	whole   bool // not only one page
	natural bool // with natural keys (see encode.Encoder.Natural)
	checked time.Time
	late    time.Duration // how much longer a page may wait for its turn
}

// exportOf returns the exporter of a query.
func (c *call) exportOf(q *records.Query, list lister) *exporter {
	x := &exporter{call: c, q: q, list: list, whole: !pageOf(c.query), checked: time.Now()}
	q.Count = false
	if x.whole {
		q.Limit = firstExportPage
	}
	return x
}

// next reads the next page.
func (x *exporter) next() (page *records.Page, err error) {
	err = x.api.heavy.runPatiently(x.r.Context(), x.late, x.heavyCaller(), func(ctx context.Context) error {
		page, err = x.page(ctx, x.q, x.list)
		return err
	})
	x.late = x.api.opts.Timeout // from the second page on, which has no response of its own
	return page, err
}

// each calls f with a page and with those that follow it. f returns how many bytes it has made of one.
func (x *exporter) each(page *records.Page, f func(recs []records.Record) (size int, err error)) error {
	for {
		size, err := f(page.Records)
		if err != nil {
			return err
		}
		if !page.More || !x.whole || len(page.Records) == 0 {
			return nil
		}
		if page, err = x.after(page.Records[len(page.Records)-1], size); err != nil {
			return err
		}
	}
}

// send writes a page and those that follow it.
func (x *exporter) send(w http.ResponseWriter, page *records.Page, out encode.Rows) error {
	e := x.api.encoders.Of(x.q.Resource).Only(x.q.Fields)
	if x.natural {
		e = e.Natural()
	}
	b := out.Begin(make([]byte, 0, 2*exportChunk), e)
	some := false
	err := x.each(page, func(recs []records.Record) (size int, err error) {
		if x.natural {
			if err := e.SetKeys(x.r.Context(), x.store, recs); err != nil {
				return 0, err
			}
		}
		for _, rec := range recs {
			before := len(b)
			b = out.Row(b, e, rec)
			size, some = size+len(b)-before, true
			if len(b) < exportChunk {
				continue
			}
			if err := x.write(w, b); err != nil {
				return size, err
			}
			b = b[:0]
		}
		return size, nil
	})
	if err != nil {
		return err
	}
	return x.write(w, out.End(b, some))
}

// after returns the page after a record, which ends a page with some bytes. Whoever may not read the
// records any more gets no more of them.
func (x *exporter) after(last records.Record, size int) (*records.Page, error) {
	if time.Since(x.checked) >= reauthorize {
		if err := x.authorize(); err != nil {
			return nil, err
		}
		x.checked = time.Now()
	}
	switch {
	case size < exportPageBytes:
		x.q.Limit = min(2*x.q.Limit, maxExportPage)
	case size > 4*exportPageBytes:
		x.q.Limit = max(x.q.Limit/2, minExportPage)
	}
	x.q.After = x.q.PlaceOf(last)
	return x.next()
}

// errClientGone is that the client has disconnected, or accepts nothing.
var errClientGone = errors.New("the client does not accept the response")

// write writes a part of the response, which the client has to accept in time.
func (x *exporter) write(w http.ResponseWriter, part []byte) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request has been read
	_ = control.SetWriteDeadline(time.Now().Add(writeChanges))
	if _, err := w.Write(part); err != nil {
		return errClientGone
	}
	return nil
}

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
