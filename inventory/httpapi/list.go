package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// get serves GET of one record.
func (c *call) get() (*feature.Response, error) {
	r := c.resource()
	id, err := c.id()
	if err != nil {
		return nil, err
	}
	var fields []*records.Field
	if c.query.Has("fields") {
		if fields, err = r.ParseFields(c.query.Get("fields")); err != nil {
			return nil, badField("fields", err)
		}
	}
	rec, err := c.store.Get(c.r.Context(), r, id)
	if err != nil {
		return nil, err
	}
	if err := c.noteRead(r); err != nil {
		return nil, err
	}
	if rec, err = c.masked(r, rec); err != nil {
		return nil, err
	}
	return &feature.Response{Header: headerOf(fields), Tag: tagOf(rec), Append: func(b []byte) []byte { return c.api.encoders.Of(r).Only(fields).Append(b, rec) }}, nil
}

// headerOf returns the header of a response with these fields of records, nil for whole records.
func headerOf(fields []*records.Field) http.Header {
	if fields == nil {
		return nil
	}
	return http.Header{"Content-Type": {openapi.PartType}}
}

// list serves GET of the records of a resource.
func (c *call) list() (*feature.Response, error) {
	q, f, err := c.parseList(c.resource(), c.query)
	if err != nil {
		return nil, err
	}
	return c.sendList(q, f)
}

// parseList returns the query of a list and the format of the response.
func (c *call) parseList(r *records.Resource, query url.Values) (*records.Query, *format, error) {
	f, err := c.format(r)
	if err != nil {
		return nil, nil, err
	}
	others := c.route.params()
	others = slices.DeleteFunc(others, func(name string) bool {
		_, taken := r.Field(name)
		return taken && (name == formatParameter || name == keysParameter)
	})
	if f.rows == nil && slices.Contains(others, keysParameter) && query.Has(keysParameter) {
		return nil, nil, badField(keysParameter, records.NotAllowed("without the format csv, jsonl or yaml"))
	}
	q, err := records.ParseQuery(r, query, others...)
	if err == nil {
		err = c.below(q, query)
	}
	return q, f, err
}

// sendList responds with the records of a query in a format.
func (c *call) sendList(q *records.Query, f *format) (*feature.Response, error) {
	if f.rows != nil {
		return c.export(q, f, c.store.List), nil
	}
	page, err := c.read(q, q.Heavy(), c.store.List)
	if err != nil {
		return nil, err
	}
	if err := c.noteRead(q.Resource); err != nil {
		return nil, err
	}
	return encoded(q, page, c.api.encoders.Of(q.Resource).Only(q.Fields)), nil
}

// listOf serves GET of the records that refer to a parent.
func (c *call) listOf(parent, r *records.Resource, field string) (*feature.Response, error) {
	q, f, err := c.parseList(r, c.query)
	if err != nil {
		return nil, err
	}
	id, err := c.parentID(parent)
	if err != nil {
		return nil, err
	}
	return c.sendList(q.Where(field, id), f)
}

// countOf serves the number of those records.
func (c *call) countOf(parent, r *records.Resource, field string) (*feature.Response, error) {
	id, err := c.parentID(parent)
	if err != nil {
		return nil, err
	}
	n, err := c.count((&records.Query{Resource: r}).Where(field, id))
	if err != nil {
		return nil, err
	}
	return feature.OK(struct {
		Status string `json:"status"`
		Count  int64  `json:"count"`
	}{"success", n}), nil
}

// countAll serves the number of all records, or of those that the sender may see if there is one.
func (c *call) countAll(r *records.Resource) (*feature.Response, error) {
	if who, err := c.api.authenticator.Authenticate(c.r); err == nil && who != nil {
		c.limitTo(who)
	}
	n, err := c.count(&records.Query{Resource: r})
	if err != nil {
		return nil, err
	}
	return feature.OK(struct {
		Count int64 `json:"count"`
	}{n}), nil
}

// running is the body of GET /.
const running = "Running API v1"

func (c *call) health() (*feature.Response, error) {
	return &feature.Response{Send: func(w http.ResponseWriter, _ *http.Request) error {
		return httpx.WriteBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte(running))
	}}, nil
}

// parentID returns the id in the path if its record exists.
func (c *call) parentID(r *records.Resource) (string, error) {
	id, err := c.id()
	if err != nil {
		return "", err
	}
	_, err = c.store.Get(c.r.Context(), r, id)
	return id, err
}

// count returns the number of records that match a query.
func (c *call) count(q *records.Query) (int64, error) {
	q.Count, q.Limit = true, 1
	page, err := c.read(q, q.Heavy(), c.store.List)
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// encoded returns a page whose records an encoder encodes.
func encoded(q *records.Query, page *records.Page, e *encode.Encoder) *feature.Response {
	return &feature.Response{Header: headerOf(q.Fields), Append: func(b []byte) []byte {
		b = append(b, `{"meta":`...)
		b = appendMeta(b, q, page)
		b = append(b, `,"data":`...)
		b = e.AppendAll(b, page.Records)
		return append(b, '}')
	}}
}

// appendMeta appends the metadata of a page: without page numbers after a cursor, and
// without totals if they were not requested.
func appendMeta(b []byte, q *records.Query, page *records.Page) []byte {
	b = append(b, '{')
	if q.Page > 0 {
		b = append(b, `"current_page":`...)
		b = append(strconv.AppendInt(b, int64(q.Page), 10), ',')
	}
	b = append(b, `"limit":`...)
	b = strconv.AppendInt(b, q.Limit, 10)
	if q.Count {
		b = append(b, `,"total_pages":`...)
		b = strconv.AppendInt(b, (page.Total+q.Limit-1)/q.Limit, 10)
		b = append(b, `,"total_count":`...)
		b = strconv.AppendInt(b, page.Total, 10)
	}
	switch {
	case q.Estimate && page.AtLeast:
		b = append(b, `,"count":"estimated"`...)
	case q.Estimate:
		b = append(b, `,"count":"exact"`...)
	}
	if page.More && len(page.Records) > 0 {
		b = append(b, `,"next_cursor":"`...)
		b = append(b, q.Cursor(page.Records[len(page.Records)-1])...) // base64
		b = append(b, '"')
	}
	return append(b, '}')
}

// belowParameter lists the records of a location and of those within it (REFERENCE.md, 1.13).
const belowParameter = "below"

// locationField returns the field by which records are at a location, nil for none: the id of locations, and
// the first reference to one. A field with the name of the parameter takes precedence.
func locationField(r *records.Resource) *records.Field {
	if _, taken := r.Field(belowParameter); taken {
		return nil
	}
	if _, ok := r.New().(*inventory.Location); ok {
		f, _ := r.Field("id")
		return f
	}
	i := slices.IndexFunc(r.Fields(), func(f *records.Field) bool {
		if f.Ref == nil || f.Name == "" {
			return false
		}
		_, ok := f.Ref.Resource().New().(*inventory.Location)
		return ok
	})
	if i < 0 {
		return nil
	}
	return r.Fields()[i]
}

// placing adds the parameter to a list.
func (op *operation) placing() {
	r := op.doc.List
	if r == nil {
		r = op.doc.Filters
	}
	if r == nil || locationField(r) == nil {
		return
	}
	op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
		Name: belowParameter, Schema: openapi.String(""),
		Description: fmt.Sprintf("At this location, or at one within it. Several are separated by commas; there may be up to %d locations.", inventory.MaxBelow),
	})
}

// below adds the condition of the parameter to a query.
func (c *call) below(q *records.Query, query url.Values) error {
	f := locationField(q.Resource)
	if f == nil || !query.Has(belowParameter) {
		return nil
	}
	var ids []string
	for id := range strings.SplitSeq(query.Get(belowParameter), ",") {
		if !records.ValidID(id) {
			return badField(belowParameter, records.BadFormat("the id of one location, or of several, separated by commas"))
		}
		within, more, err := inventory.Below(c.r.Context(), c.store, id)
		if err != nil {
			return err
		}
		if ids = append(ids, within...); more || len(ids) > inventory.MaxBelow {
			return badField(belowParameter, records.TooMany(inventory.MaxBelow, "locations: choose one of them"))
		}
	}
	q.WhereIn(f.Name, ids)
	return nil
}
