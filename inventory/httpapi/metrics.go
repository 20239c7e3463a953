package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// overviewing makes the list of metrics an overview: the latest metric of each device
// (REFERENCE.md, 2.8).
func (rt *route) overviewing() {
	switch rt.does {
	case records.RouteList:
		rt.operation = overview(rt.resource)
	case records.RouteGet: // the same component as in the overview
		rt.doc.Responses[0].Schema = openapi.Part(rt.resource, hostname())
	}
}

// hostname adds the hostname to the fields of a metric in the overview.
func hostname() openapi.Property {
	return openapi.Optional("hostname", openapi.String("The hostname of the device. In the overview only."))
}

func overview(r *records.Resource) operation {
	sort := openapi.String("")
	sort.Pattern = `^(value|cpu|memory|temp|uptime|ts):(asc|desc)$`
	op := operation{openapi.Operation{
		ID: "listMetrics", Tag: r.Name, Summary: "List the latest metric of each device, or all metrics",
		List: r,
		Parameters: []openapi.Parameter{
			{Name: "sort", Schema: sort, Description: "A short form of sortby; value is an alias of cpu. Default: the latest first."},
			{Name: "latest", Schema: openapi.Boolean(""), Description: "false: all metrics, not only the latest of each device."},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Page(r, hostname())}},
	}, (*call).overview}
	op.exporting()
	return op
}

func (c *call) overview() error {
	sorted, err := overviewOrder(c.query)
	if err != nil {
		return err
	}
	q, f, err := c.parseList(records.Of[inventory.Metric](c.schema), sorted)
	if err != nil {
		return err
	}
	list, heavy := c.store.List, q.Heavy()
	switch latest := c.query.Get("latest"); {
	case c.query.Has("latest") && latest != "true" && latest != "false":
		return badField("latest", "must be true or false")
	case latest == "false" && f.rows != nil:
		return c.sendList(q, f)
	case f.rows != nil:
		return c.exportLatest(q, f)
	case latest != "false":
		list, heavy = c.latest(q)
	}
	page, err := c.read(q, heavy, list)
	if err != nil {
		return err
	}
	e := c.encoders.of(q.Resource).only(q.Fields)
	if device, _ := q.Resource.Field("device_id"); q.Fields == nil || slices.Contains(q.Fields, device) {
		names, err := c.hostnames(page.Records)
		if err != nil {
			return err
		}
		e = e.after("device_id", member{name: `"hostname":`, base: func(b []byte, base *records.Base) []byte {
			return appendString(b, names[base.ID])
		}})
	}
	c.sendEncoded(q, page, e)
	return nil
}

// exportLatest exports the latest metrics, by default in the order of the devices: while the export runs,
// new metrics move to the start of the order by time.
func (c *call) exportLatest(q *records.Query, f *format) error {
	if !c.query.Has("sort") && !c.query.Has("sortby") && !pageOf(c.query) {
		device, _ := q.Resource.Field(q.Resource.Latest.Per)
		q.Sort = []records.SortKey{{Field: device}}
	}
	return c.export(q, f, func(ctx context.Context, q *records.Query) (*records.Page, error) {
		list, _ := c.latest(q)
		return list(ctx, q)
	})
}

// hostnames returns the hostnames of the devices of metrics, by the ids of the metrics. A device
// that has been deleted in the meantime has none.
func (c *call) hostnames(metrics []records.Record) (map[string]string, error) {
	devices := records.Of[inventory.Device](c.schema)
	id, _ := devices.Field("id")
	var ids []any
	for _, rec := range metrics {
		ids = append(ids, rec.(*inventory.Metric).DeviceID)
	}
	page, err := c.store.List(c.r.Context(), &records.Query{Resource: devices, Filters: []records.Filter{{Field: id, Op: records.In, Value: ids}}})
	if err != nil {
		return nil, err
	}
	byDevice, names := map[string]string{}, map[string]string{}
	for _, rec := range page.Records {
		byDevice[rec.Meta().ID] = rec.(*inventory.Device).Hostname
	}
	for _, rec := range metrics {
		names[rec.Meta().ID] = byDevice[rec.(*inventory.Metric).DeviceID]
	}
	return names, nil
}

// withSort returns a query with another order.
func withSort(query url.Values, keys ...string) url.Values {
	sorted := url.Values{}
	maps.Copy(sorted, query)
	sorted["sortby"] = keys
	return sorted
}

// overviewOrder returns the query with sort converted to sortby.
func overviewOrder(query url.Values) (url.Values, error) {
	switch {
	case query.Has("sort") && query.Has("sortby"):
		return nil, badField("sort", "can't be used together with sortby: use one of them")
	case query.Has("sortby"):
		return query, nil
	case !query.Has("sort"):
		return withSort(query, "ts:desc"), nil
	}
	by, order, _ := strings.Cut(query.Get("sort"), ":")
	field, ok := map[string]string{
		"value": "cpu", "cpu": "cpu", "memory": "memory", "temp": "temp", "uptime": "uptime_seconds", "ts": "ts",
	}[by]
	if !ok || order != "asc" && order != "desc" {
		return nil, badField("sort", "must be one of value, cpu, memory, temp, uptime and ts, followed by :asc or :desc")
	}
	return withSort(query, field+":"+order), nil
}

// latest returns how to list the latest records, and whether that is a heavy query.
func (c *call) latest(q *records.Query) (list func(context.Context, *records.Query) (*records.Page, error), heavy bool) {
	if store, ok := c.store.(records.LatestLister); ok {
		return store.ListLatest, q.HeavyLatest()
	}
	return c.scanLatest, true
}

// scanLatest lists the latest records of a store that is no LatestLister.
func (c *call) scanLatest(ctx context.Context, q *records.Query) (*records.Page, error) {
	device, _ := q.Resource.Field(q.Resource.Latest.Per)
	ts, _ := q.Resource.Field(q.Resource.Latest.At)
	found, err := scanLatest(ctx, c.store, q.Resource, device, ts)
	if err != nil {
		return nil, err
	}
	return q.Select(found), nil
}

// The bounds of the scan of a store that is no LatestLister.
const (
	scanSize    = 1000
	maxOverview = 100_000
)

// scanLatest scans the metrics by device and time and returns the first of each device. After
// each page it skips to the next device, however many metrics this one has.
func scanLatest(ctx context.Context, from records.Reader, r *records.Resource, device, ts *records.Field) ([]records.Record, error) {
	id, _ := r.Field("id")
	q := &records.Query{
		Resource: r, Limit: scanSize,
		Sort: []records.SortKey{{Field: device}, {Field: ts, Desc: true}, {Field: id, Desc: true}},
	}
	var found []records.Record
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
			return nil, badField("latest", "must be false: this store has too many devices for an overview")
		}
		// Missing values come last in this order, so this is after all metrics of the device.
		q.After = &records.Place{Values: []any{last, nil, nil}, ID: strings.Repeat("f", 36)}
	}
}

// latestMetric reads the latest metric of one device.
func latestMetric(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "getLatestMetric", Tag: r.Name, Summary: "Get the latest metric of one device",
		Parameters: []openapi.Parameter{openapi.IfNoneMatch()},
		Responses:  []openapi.Response{recordResponse(r), notModified()},
	}, (*call).latestMetric}
}

func (c *call) latestMetric() error {
	device, err := c.id()
	if err != nil {
		return err
	}
	r := records.Of[inventory.Metric](c.schema)
	q := (&records.Query{Resource: r, Limit: 1}).Where("device_id", device)
	list, heavy := c.latest(q)
	if heavy { // the first of one device is not
		ts, _ := r.Field("ts")
		id, _ := r.Field("id")
		q.Sort, list = []records.SortKey{{Field: ts, Desc: true}, {Field: id, Desc: true}}, c.store.List
	}
	page, err := list(c.r.Context(), q)
	if err != nil {
		return err
	}
	if len(page.Records) == 0 {
		return httpx.Errorf(http.StatusNotFound, "Metrics not found for this device")
	}
	c.sendFound(r, page.Records[0], nil)
	return nil
}
