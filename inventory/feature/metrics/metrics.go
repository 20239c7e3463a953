// Package metrics is the feature of measurements: the latest ones of all devices, and those of one device over time
// (REFERENCE.md, 2.8). The parameter sort of the list is a short form of sortby with value, cpu, memory, temp, uptime or
// ts, where value is an alias of cpu.
package metrics

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"devices": &inventory.Device{}, "metrics": &inventory.Metric{}},
		Operations: []feature.Operation{listMetrics(), {
			Operation: openapi.Operation{Method: http.MethodGet, Path: "/metrics/{id}"}, // by the same component as in the overview
			Describe: func(schema *records.Schema, op *openapi.Operation) {
				op.Responses[0].Schema, op.Responses[1].Schema = openapi.RecordOrPart(records.Of[inventory.Metric](schema), hostname())
			},
		}, latestMetric(), getHistory()},
		Pages: pages(),
		Jobs:  []feature.Job{rollUp},
	}
}

// hostname adds the hostname to the fields of a metric in the overview.
func hostname() openapi.Property {
	return openapi.Optional("hostname", openapi.String("The hostname of the device. In the overview only."))
}

// listMetrics makes the list of metrics an overview: the latest metric of each device.
func listMetrics() feature.Operation {
	sort := openapi.String("")
	sort.Pattern = `^(value|cpu|memory|temp|uptime|ts):(asc|desc)$`
	return feature.Operation{
		Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/metrics", Summary: "List the latest metric of each device, or all metrics",
			Parameters: []openapi.Parameter{
				{Name: "sort", Schema: sort, Description: "A short form of sortby; value is an alias of cpu. Default: the latest first."},
				{Name: "latest", Schema: openapi.Boolean(""), Description: "false: all metrics, not only the latest of each device."},
			},
		},
		Describe: func(schema *records.Schema, op *openapi.Operation) {
			op.Responses[0].Schema, op.Responses[1].Schema = openapi.PageOrPart(records.Of[inventory.Metric](schema), hostname())
		},
		Handle: overview,
	}
}

// overview serves the list.
func overview(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	from := r.Inventory.Records()
	metrics := records.Of[inventory.Metric](from.Schema())
	sorted, err := overviewOrder(r.Query)
	if err != nil {
		return nil, err
	}
	which, err := r.Choice("latest", "true", "false")
	if err != nil {
		return nil, err
	}
	l := &feature.List{Resource: metrics, Query: sorted, Read: from.List, Heavy: (*records.Query).Heavy}
	if which == "true" {
		l.Read, l.Heavy = latest(from)
		if !r.Query.Has("sort") && !r.Query.Has("sortby") { // while an export runs, new metrics move to the start of the order by time
			device, _ := metrics.Field(metrics.Latest.Per)
			l.ExportSort = []records.SortKey{{Field: device}}
		}
	}
	l.Also = func(ctx context.Context, found []records.Record) (*feature.Member, error) {
		names, err := hostnames(ctx, from, found)
		return &feature.Member{After: "device_id", Name: "hostname", Values: names}, err
	}
	return r.Inventory.List(ctx, l)
}

// hostnames returns the hostnames of the devices of metrics, by the ids of the metrics. A device
// that has been deleted in the meantime has none.
func hostnames(ctx context.Context, from records.Reader, metrics []records.Record) (map[string]string, error) {
	devices := records.Of[inventory.Device](from.Schema())
	var ids []string
	for _, rec := range metrics {
		ids = append(ids, rec.(*inventory.Metric).DeviceID)
	}
	page, err := from.List(ctx, (&records.Query{Resource: devices}).WhereIn("id", ids))
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

// overviewOrder returns the query with sort converted to sortby.
func overviewOrder(query url.Values) (url.Values, error) {
	order := "ts:desc"
	switch {
	case query.Has("sort") && query.Has("sortby"):
		return nil, records.Refuse("sort", records.NotAllowed("beside sortby"))
	case query.Has("sortby"):
		return query, nil
	case query.Has("sort"):
		by, direction, _ := strings.Cut(query.Get("sort"), ":")
		field, ok := map[string]string{
			"value": "cpu", "cpu": "cpu", "memory": "memory", "temp": "temp", "uptime": "uptime_seconds", "ts": "ts",
		}[by]
		if !ok || direction != "asc" && direction != "desc" {
			return nil, records.Refuse("sort", records.BadFormat("value, cpu, memory, temp, uptime or ts, followed by :asc or :desc"))
		}
		order = field + ":" + direction
	}
	sorted := url.Values{}
	maps.Copy(sorted, query)
	sorted.Set("sortby", order)
	return sorted, nil
}

// latest returns how to list the latest records, and whether that is a heavy query.
func latest(from records.Reader) (list func(context.Context, *records.Query) (*records.Page, error), heavy func(*records.Query) bool) {
	if store, ok := from.(records.LatestLister); ok {
		return store.ListLatest, (*records.Query).HeavyLatest
	}
	scan := func(ctx context.Context, q *records.Query) (*records.Page, error) {
		device, _ := q.Resource.Field(q.Resource.Latest.Per)
		ts, _ := q.Resource.Field(q.Resource.Latest.At)
		found, err := scanLatest(ctx, from, q.Resource, device, ts)
		if err != nil {
			return nil, err
		}
		return q.Select(found), nil
	}
	return scan, func(*records.Query) bool { return true }
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
			return nil, records.Refuse("latest", records.Wrong("too_many", "must be false: this store has too many devices for an overview"))
		}
		// Missing values come last in this order, so this is after all metrics of the device.
		q.After = &records.Place{Values: []any{last, nil, nil}, ID: strings.Repeat("f", 36)}
	}
}

// latestMetric reads the latest metric of one device.
func latestMetric() feature.Operation {
	return feature.Operation{
		Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/metrics/device/{id}",
			ID: "getLatestMetric", Tag: "metrics", Summary: "Get the latest metric of one device",
			Parameters: []openapi.Parameter{openapi.IfNoneMatch()},
			Responses: []openapi.Response{
				{Status: http.StatusOK, Headers: []openapi.Header{openapi.ETag()}},
				{Status: http.StatusNotModified},
			},
		},
		Describe: func(schema *records.Schema, op *openapi.Operation) {
			op.Responses[0].Schema = openapi.Record(records.Of[inventory.Metric](schema))
		},
		Resource: "metrics", Does: records.RouteGet, Handle: serveLatest,
	}
}

func serveLatest(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	device, err := r.ID()
	if err != nil {
		return nil, err
	}
	from := r.Inventory.Records()
	metrics := records.Of[inventory.Metric](from.Schema())
	q := (&records.Query{Resource: metrics, Limit: 1}).Where("device_id", device)
	list, heavy := latest(from)
	if heavy(q) { // the first of one device is not
		ts, _ := metrics.Field("ts")
		id, _ := metrics.Field("id")
		q.Sort, list = []records.SortKey{{Field: ts, Desc: true}, {Field: id, Desc: true}}, from.List
	}
	page, err := list(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(page.Records) == 0 {
		return nil, httpx.Errorf(http.StatusNotFound, "Metrics not found for this device")
	}
	return feature.OK(page.Records[0]), nil
}

const (
	rollupInterval = 15 * time.Second      // between looking for new metrics
	rollupPause    = 10 * time.Millisecond // between two batches, for other writers
)

// rollUp summarizes metrics and deletes old ones until ctx ends.
func rollUp(ctx context.Context, b *feature.Background) error {
	roller, err := inventory.NewRoller(b.Engine.Store(), inventory.Retention{
		Raw: b.Keep["metrics-raw"].MaxAge, FiveMinutes: b.Keep["metrics-5m"].MaxAge, OneHour: b.Keep["metrics-1h"].MaxAge,
	}, nil)
	if err != nil {
		return err
	}
	wait := rollupInterval
	for backoff.Sleep(ctx, wait) == nil {
		more, err := roller.Step(ctx)
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("metrics are not summarized, which is tried again", "error", err)
		}
		wait = rollupInterval
		if more && err == nil {
			wait = rollupPause
		}
	}
	return nil
}
