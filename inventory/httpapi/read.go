package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
)

// getOne is GET of one record.
func (c *call) getOne(r *inventory.Resource) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	rec, err := c.store.Get(c.r.Context(), r, id)
	if err != nil {
		return err
	}
	c.sendFound(r, rec)
	return nil
}

// sendFound answers with a record, unless the client has it already.
func (c *call) sendFound(r *inventory.Resource, rec inventory.Record) {
	tag := tagOf(rec)
	httpx.SetTag(c.w, tag)
	if !httpx.NotModified(c.w, c.r, tag) {
		c.send(http.StatusOK, func(b []byte) []byte { return c.encoders[r].append(b, rec) })
	}
}

// listAll is GET of the records of a resource.
func (c *call) listAll(r *inventory.Resource) error {
	q, err := c.parse(r)
	if err != nil {
		return err
	}
	return c.page(q, c.store.List)
}

// listOf is GET of the records that belong to one of another resource.
func (c *call) listOf(parent, r *inventory.Resource, field string) error {
	q, err := c.parse(r)
	if err != nil {
		return err
	}
	id, err := c.parent(parent)
	if err != nil {
		return err
	}
	return c.page(q.Where(field, id), c.store.List)
}

// countOf is the number of those records.
func (c *call) countOf(parent, r *inventory.Resource, field string) error {
	id, err := c.parent(parent)
	if err != nil {
		return err
	}
	n, err := c.count((&inventory.Query{Resource: r}).Where(field, id))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(c.w, http.StatusOK, struct {
		Status string `json:"status"`
		Count  int64  `json:"count"`
	}{"success", n})
}

// countLocations is the count that needs no token.
func (c *call) countLocations() error {
	n, err := c.count(&inventory.Query{Resource: inventory.Of[inventory.Location]()})
	if err != nil {
		return err
	}
	return httpx.WriteJSON(c.w, http.StatusOK, struct {
		Count int64 `json:"count"`
	}{n})
}

// running says that the API is (specification, Endpoints A).
func (c *call) running() error {
	h := c.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.w.Write([]byte("Running API v1")) // a client that does not listen is its own loss
	return nil
}

// parent is the id in the path, of a record that is there.
func (c *call) parent(r *inventory.Resource) (string, error) {
	id, err := c.id()
	if err != nil {
		return "", err
	}
	_, err = c.store.Get(c.r.Context(), r, id)
	return id, err
}

// count is how many records a query has.
func (c *call) count(q *inventory.Query) (int64, error) {
	q.Count, q.Limit = true, 1
	page, err := c.store.List(c.r.Context(), q)
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// parse reads the query of a list. What has happened, unlike what is there, is listed with
// the newest first unless the client has another wish.
func (c *call) parse(r *inventory.Resource) (*inventory.Query, error) {
	if happens(r) && !c.query.Has("sortby") {
		c.query = withSort(c.query, "id:desc") // ids are in the order of creation
	}
	return inventory.ParseQuery(r, c.query, c.route.params()...)
}

// happens reports whether the records of a resource are things that have happened.
func happens(r *inventory.Resource) bool {
	return r == inventory.Of[inventory.Event]() || r == inventory.Of[inventory.AuditLog]()
}

// withSort is a query in another order.
func withSort(query url.Values, keys ...string) url.Values {
	sorted := url.Values{}
	maps.Copy(sorted, query)
	sorted["sortby"] = keys
	return sorted
}

// page answers with what a query comes to.
func (c *call) page(q *inventory.Query, list lister) error {
	page, err := list(c.r.Context(), q)
	if err != nil {
		return err
	}
	e := c.encoders[q.Resource].only(q.Fields)
	c.send(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"meta":`...)
		b = appendMeta(b, q, page)
		b = append(b, `,"data":`...)
		b = e.appendAll(b, page.Records)
		return append(b, '}')
	})
	return nil
}

// appendMeta says where in a list a page lies. Behind a cursor there are no numbers
// of pages, and without a count no totals.
func appendMeta(b []byte, q *inventory.Query, page *inventory.Page) []byte {
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
	if page.More && len(page.Records) > 0 {
		b = append(b, `,"next_cursor":"`...)
		b = append(b, q.Cursor(page.Records[len(page.Records)-1])...) // base64
		b = append(b, '"')
	}
	return append(b, '}')
}

// lister is how the records of a query are found.
type lister func(ctx context.Context, q *inventory.Query) (*inventory.Page, error)
