package metrics

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	// maxPoints is the maximum number of points of a history.
	maxPoints = 2000
	// rawHistory is the longest range whose default step is raw.
	rawHistory = 6 * time.Hour
	// defaultHistory is the range without from.
	defaultHistory = 24 * time.Hour
)

// stepRaw is the step of single metrics.
const stepRaw = "raw"

// getHistory lists the metrics of one device over time.
func getHistory() feature.Operation {
	number := func() *openapi.Schema { return &openapi.Schema{Type: []string{"number", "null"}} }
	values := func() *openapi.Schema {
		return openapi.Object("MetricValues", openapi.Required("min", number()), openapi.Required("avg", number()), openapi.Required("max", number()))
	}
	step := openapi.String("")
	step.Enum = []any{stepRaw, string(inventory.FiveMinutes), string(inventory.OneHour)}
	count := openapi.Integer("The number of metrics.", 0)
	uptime := &openapi.Schema{Type: []string{"integer", "null"}}
	point := openapi.Object("HistoryPoint", openapi.Required("ts", openapi.Time("The time of the metric, or the start of the period.")),
		openapi.Required("samples", count), openapi.Required("cpu", values()), openapi.Required("memory", values()),
		openapi.Required("temp", values()), openapi.Required("uptime_seconds", uptime))
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodGet, Path: "/metrics/device/{id}/history",
		ID: "getMetricHistory", Tag: "metrics", Summary: "Get the metrics of one device over time",
		Parameters: []openapi.Parameter{
			{Name: "from", Schema: openapi.Time(""), Description: "The first time. Default: a day before to."},
			{Name: "to", Schema: openapi.Time(""), Description: "The time after the last one. Default: now."},
			{Name: "step", Schema: step, Description: "The length of the periods; raw is single metrics. Default: the shortest of those for which the range is not too long."},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("History",
			openapi.Required("meta", openapi.Object("HistoryMeta", openapi.Required("from", openapi.Time("")), openapi.Required("to", openapi.Time("")),
				openapi.Required("step", step), openapi.Required("more", openapi.Boolean("Whether there are more raw metrics than a response has.")))),
			openapi.Required("data", openapi.Array(point, 0, maxPoints)))}},
	}, Resource: "metrics", Does: records.RouteList, Handle: serveHistory}
}

// history is the response.
type history struct {
	Meta historyMeta    `json:"meta"`
	Data []historyPoint `json:"data"`
}

type historyMeta struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Step string    `json:"step"`
	More bool      `json:"more"`
}

// historyPoint is a metric, or the summary of a period.
type historyPoint struct {
	TS      time.Time     `json:"ts"`
	Samples int64         `json:"samples"`
	CPU     historyValues `json:"cpu"`
	Memory  historyValues `json:"memory"`
	Temp    historyValues `json:"temp"`
	Uptime  *int64        `json:"uptime_seconds"`
}

type historyValues struct {
	Min *float64 `json:"min"`
	Avg *float64 `json:"avg"`
	Max *float64 `json:"max"`
}

func serveHistory(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	from := r.Inventory.Records()
	device, err := r.Find(ctx, "id", records.Of[inventory.Device](from.Schema()))
	if err != nil {
		return nil, err
	}
	first, end, step, err := historyRange(r.Query, r.Inventory.Engine().Now())
	if err != nil {
		return nil, err
	}
	page, err := from.List(ctx, historyQuery(from.Schema(), device, step, first, end))
	if err != nil {
		return nil, err
	}
	h := history{historyMeta{first, end, step, page.More}, make([]historyPoint, len(page.Records))}
	for i, rec := range page.Records {
		h.Data[i] = pointOf(rec)
	}
	return feature.OK(h), nil
}

// historyQuery returns the query of a history. An index has its records in order.
func historyQuery(schema *records.Schema, device, step string, from, to time.Time) *records.Query {
	q := &records.Query{Resource: records.Of[inventory.Metric](schema), Limit: maxPoints}
	field, first, end := "ts", any(from), any(to)
	if step != stepRaw {
		s := inventory.Step(step)
		q.Resource, field = records.Of[inventory.MetricRollup](schema), "bucket"
		first, end = s.Bucket(from), s.Bucket(to.Add(s.Duration()-1))
	}
	q.Where("device_id", device)
	f, _ := q.Resource.Field(field)
	q.Sort = []records.SortKey{{Field: f}}
	q.Filters = append(q.Filters, records.Filter{Field: f, Op: records.Gte, Value: first}, records.Filter{Field: f, Op: records.Lt, Value: end})
	return q
}

// historyRange returns the parameters of a history.
func historyRange(query url.Values, now time.Time) (from, to time.Time, step string, err error) {
	to = now.UTC().Truncate(time.Microsecond)
	parse := func(name string, at *time.Time) error {
		if !query.Has(name) {
			return nil
		}
		t, err := time.Parse(time.RFC3339Nano, query.Get(name))
		if err != nil || t.Year() < 1 || t.Year() > 9998 {
			return records.Refuse(name, records.WrongKind(records.Time))
		}
		*at = t.UTC().Truncate(time.Microsecond)
		return nil
	}
	if err := parse("to", &to); err != nil {
		return from, to, "", err
	}
	from = to.Add(-defaultHistory)
	if err := parse("from", &from); err != nil {
		return from, to, "", err
	}
	if !from.Before(to) {
		return from, to, "", records.Refuse("from", records.Inconsistent("before to"))
	}
	steps := []string{stepRaw, string(inventory.FiveMinutes), string(inventory.OneHour)}
	longest := map[string]time.Duration{stepRaw: rawHistory}
	for _, s := range steps[1:] {
		longest[s] = (maxPoints - 1) * inventory.Step(s).Duration()
	}
	step = query.Get("step")
	switch {
	case !query.Has("step"):
		i := slices.IndexFunc(steps, func(s string) bool { return to.Sub(from) <= longest[s] })
		step = steps[max(i, 0)]
		if i < 0 {
			step = string(inventory.OneHour)
		}
	case !slices.Contains(steps, step):
		return from, to, "", records.Refuse("step", records.NotOneOf(step, steps...))
	}
	if step != stepRaw && to.Sub(from) > longest[step] {
		return from, to, "", records.Refuse("step", records.Wrong("out_of_range", "%s allows a range of at most %d hours: use a longer step or a shorter range", step, int(longest[step].Hours())))
	}
	return from, to, step, nil
}

// pointOf returns a metric, or the summary of a period, as a point.
func pointOf(rec records.Record) historyPoint {
	p, at := &inventory.MetricRollup{}, time.Time{}
	switch rec := rec.(type) {
	case *inventory.MetricRollup:
		p, at = rec, rec.Start()
	case *inventory.Metric:
		one := func(v *float64) historyValues { return historyValues{v, v, v} }
		return historyPoint{*rec.TS, 1, one(rec.CPU), one(rec.Memory), one(rec.Temp), rec.UptimeSeconds} // the range excludes null
	}
	return historyPoint{
		at, p.Samples,
		historyValues{p.CPUMin, p.CPUAvg, p.CPUMax},
		historyValues{p.MemoryMin, p.MemoryAvg, p.MemoryMax},
		historyValues{p.TempMin, p.TempAvg, p.TempMax},
		p.UptimeSeconds,
	}
}
