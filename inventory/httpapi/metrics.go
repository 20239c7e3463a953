package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// sortNames are what the overview can be sorted by with its own parameter (reference 1.3).
// The value of a device is how busy it is, which is its cpu.
func sortNames() map[string]string {
	return map[string]string{
		"value": "cpu", "cpu": "cpu", "memory": "memory", "temp": "temp", "uptime": "uptime_seconds", "ts": "ts",
	}
}

const sortWant = "must be one of value, cpu, memory, temp, uptime and ts, and :asc or :desc"

// overview is GET /metrics: the latest metric of each device, the latest first.
func (a *API) overview() operation {
	r := inventory.Of[inventory.Metric]()
	sort := openapi.String("")
	sort.Pattern = `^(value|cpu|memory|temp|uptime|ts):(asc|desc)$`
	return operation{
		openapi.Operation{
			ID: "listMetrics", Tag: r.Name(), Summary: "List the latest metric of each device, or all there are",
			List: r,
			Parameters: []openapi.Parameter{
				{Name: "sort", Schema: sort, Description: "A short form of sortby; value is the same as cpu. Default: the latest first."},
				{Name: "latest", Schema: openapi.Boolean(""), Description: "false: all metrics, and not just the latest of each device."},
			},
			Answers: []openapi.Answer{page(r)},
		},
		(*call).overview,
	}
}

func (c *call) overview() error {
	sorted, err := overviewOrder(c.query)
	if err != nil {
		return err
	}
	q, err := inventory.ParseQuery(inventory.Of[inventory.Metric](), sorted, c.route.params()...)
	if err != nil {
		return err
	}
	switch latest := c.query.Get("latest"); {
	case latest == "false":
		return c.page(q, c.store.List)
	case c.query.Has("latest") && latest != "true":
		return badField("latest", "must be true or false")
	}
	return c.page(q, c.latest)
}

// overviewOrder is the query with its sort in the form of other lists.
func overviewOrder(query url.Values) (url.Values, error) {
	if !query.Has("sort") {
		if query.Has("sortby") {
			return query, nil
		}
		return withSort(query, "ts:desc", "id:desc"), nil
	}
	if query.Has("sortby") {
		return nil, badField("sort", "can't be used together with sortby: use one of them")
	}
	by, order, _ := strings.Cut(query.Get("sort"), ":")
	field, known := sortNames()[by]
	if !known || order != "asc" && order != "desc" {
		return nil, badField("sort", sortWant)
	}
	return withSort(query, field+":"+order), nil
}

// latest is a list of those metrics only that are the latest of their devices.
func (c *call) latest(ctx context.Context, q *inventory.Query) (*inventory.Page, error) {
	device, _ := q.Resource.Field("device_id")
	ts, _ := q.Resource.Field("ts")
	if store, ok := c.store.(inventory.LatestLister); ok {
		return store.ListLatest(ctx, q, device, ts)
	}
	found, err := newest(ctx, c.store, device, ts)
	if err != nil {
		return nil, err
	}
	return q.Select(found), nil
}

// The bounds of what is looked through for a store that can't.
const (
	chunk       = 1000
	maxOverview = 100_000
)

// newest goes through a list by device and time, and takes the first of each. Behind
// each chunk it goes on with the next device, however many metrics this one has.
func newest(ctx context.Context, from inventory.Reader, device, ts *inventory.Field) ([]inventory.Record, error) {
	q := &inventory.Query{
		Resource: inventory.Of[inventory.Metric](), Limit: chunk,
		Sort: []inventory.SortKey{{Field: device}, {Field: ts, Desc: true}, {Field: idOf(inventory.Of[inventory.Metric]()), Desc: true}},
	}
	var found []inventory.Record
	last := ""
	for {
		page, err := from.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Records {
			if id := rec.(*inventory.Metric).DeviceID; id != last {
				found, last = append(found, rec), id
			}
		}
		switch {
		case !page.More:
			return found, nil
		case len(found) > maxOverview:
			return nil, badField("latest", "must be false: there are too many devices for an overview in this store")
		}
		// What has no value comes last in this order: this is behind all metrics of the device.
		q.After = &inventory.Place{Values: []any{last, nil, nil}, ID: strings.Repeat("f", 36)}
	}
}

func idOf(r *inventory.Resource) *inventory.Field {
	f, _ := r.Field("id")
	return f
}

// latestMetric is GET /metrics/device/{id}.
func (a *API) latestMetric() operation {
	r := inventory.Of[inventory.Metric]()
	return operation{
		openapi.Operation{
			ID: "getLatestMetric", Tag: r.Name(), Summary: "Read the latest metric of one device",
			Parameters: []openapi.Parameter{openapi.IfNoneMatch()},
			Answers:    []openapi.Answer{record(http.StatusOK, r), {Status: http.StatusNotModified, Headers: tagged()}},
		},
		(*call).latestMetric,
	}
}

func (c *call) latestMetric() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	r := inventory.Of[inventory.Metric]()
	ts, _ := r.Field("ts")
	q := &inventory.Query{Resource: r, Limit: 1, Sort: []inventory.SortKey{{Field: ts, Desc: true}, {Field: idOf(r), Desc: true}}}
	page, err := c.store.List(c.r.Context(), q.Where("device_id", id))
	if err != nil {
		return err
	}
	if len(page.Records) == 0 {
		return httpx.Errorf(http.StatusNotFound, "Metrics not found for this device")
	}
	c.sendFound(r, page.Records[0])
	return nil
}
