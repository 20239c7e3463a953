package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
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

// history lists the metrics of one device over time (REFERENCE.md, 2.8).
func history(r *records.Resource) operation {
	number := func() *openapi.Schema { return &openapi.Schema{Type: []string{"number", "null"}} }
	values := func() *openapi.Schema {
		return openapi.Object("MetricValues", openapi.Required("min", number()), openapi.Required("avg", number()), openapi.Required("max", number()))
	}
	at := func(description string) *openapi.Schema {
		s := openapi.String(description)
		s.Format = "date-time"
		return s
	}
	step := openapi.String("")
	step.Enum = []any{stepRaw, string(inventory.FiveMinutes), string(inventory.OneHour)}
	count := openapi.Integer("The number of metrics.", 0)
	uptime := &openapi.Schema{Type: []string{"integer", "null"}}
	point := openapi.Object("HistoryPoint", openapi.Required("ts", at("The time of the metric, or the start of the period.")),
		openapi.Required("samples", count), openapi.Required("cpu", values()), openapi.Required("memory", values()),
		openapi.Required("temp", values()), openapi.Required("uptime_seconds", uptime))
	return operation{openapi.Operation{
		ID: "getMetricHistory", Tag: r.Name, Summary: "Get the metrics of one device over time",
		Parameters: []openapi.Parameter{
			{Name: "from", Schema: at(""), Description: "The first time. Default: a day before to."},
			{Name: "to", Schema: at(""), Description: "The time after the last one. Default: now."},
			{Name: "step", Schema: step, Description: "The length of the periods; raw is single metrics. Default: the shortest of those for which the range is not too long."},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("History",
			openapi.Required("meta", openapi.Object("HistoryMeta", openapi.Required("from", at("")), openapi.Required("to", at("")),
				openapi.Required("step", step), openapi.Required("more", openapi.Boolean("Whether there are more raw metrics than a response has.")))),
			openapi.Required("data", openapi.Array(point, 0, maxPoints)))}},
	}, (*call).history}
}

func (c *call) history() error {
	device, err := c.parentID(records.Of[inventory.Device](c.schema))
	if err != nil {
		return err
	}
	from, to, step, err := c.historyRange()
	if err != nil {
		return err
	}
	q := c.historyQuery(device, step, from, to)
	page, err := c.store.List(c.r.Context(), q)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"meta":{"from":`...)
		b = append(appendTime(b, from), `,"to":`...)
		b = append(appendTime(b, to), `,"step":"`...)
		b = append(append(b, step...), `","more":`...)
		b = append(strconv.AppendBool(b, page.More), `},"data":[`...)
		for i, rec := range page.Records {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPoint(b, rec)
		}
		return append(b, "]}"...)
	})
	return nil
}

// historyQuery returns the query of a history. An index has its records in order.
func (c *call) historyQuery(device, step string, from, to time.Time) *records.Query {
	q := &records.Query{Resource: records.Of[inventory.Metric](c.schema), Limit: maxPoints}
	field, first, end := "ts", any(from), any(to)
	if step != stepRaw {
		s := inventory.Step(step)
		q.Resource, field = records.Of[inventory.MetricRollup](c.schema), "bucket"
		first, end = s.Bucket(from), s.Bucket(to.Add(s.Duration()-1))
	}
	q.Where("device_id", device)
	f, _ := q.Resource.Field(field)
	q.Sort = []records.SortKey{{Field: f}}
	q.Filters = append(q.Filters, records.Filter{Field: f, Op: records.Gte, Value: first}, records.Filter{Field: f, Op: records.Lt, Value: end})
	return q
}

// historyRange returns the parameters of a history.
func (c *call) historyRange() (from, to time.Time, step string, err error) {
	to = c.now().UTC().Truncate(time.Microsecond)
	parse := func(name string, at *time.Time) error {
		if !c.query.Has(name) {
			return nil
		}
		t, err := time.Parse(time.RFC3339Nano, c.query.Get(name))
		if err != nil || t.Year() < 1 || t.Year() > 9998 {
			return badField(name, "must be a time such as 2026-01-31T12:00:00Z")
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
		return from, to, "", badField("from", "must be before to")
	}
	steps := []string{stepRaw, string(inventory.FiveMinutes), string(inventory.OneHour)}
	longest := map[string]time.Duration{stepRaw: rawHistory}
	for _, s := range steps[1:] {
		longest[s] = (maxPoints - 1) * inventory.Step(s).Duration()
	}
	step = c.query.Get("step")
	switch {
	case !c.query.Has("step"):
		i := slices.IndexFunc(steps, func(s string) bool { return to.Sub(from) <= longest[s] })
		step = steps[max(i, 0)]
		if i < 0 {
			step = string(inventory.OneHour)
		}
	case !slices.Contains(steps, step):
		return from, to, "", badField("step", "must be one of "+strings.Join(steps, ", "))
	}
	if step != stepRaw && to.Sub(from) > longest[step] {
		return from, to, "", badField("step", fmt.Sprintf("%s allows a range of at most %d hours: use a longer step or a shorter range", step, int(longest[step].Hours())))
	}
	return from, to, step, nil
}

// appendPoint appends a metric or the summary of a period.
func appendPoint(b []byte, rec records.Record) []byte {
	p, at := &inventory.MetricRollup{}, time.Time{}
	switch rec := rec.(type) {
	case *inventory.MetricRollup:
		p, at = rec, rec.Start()
	case *inventory.Metric:
		at = *rec.TS // the range excludes null
		p = &inventory.MetricRollup{
			Samples: 1, UptimeSeconds: rec.UptimeSeconds,
			CPUMin: rec.CPU, CPUAvg: rec.CPU, CPUMax: rec.CPU, MemoryMin: rec.Memory, MemoryAvg: rec.Memory, MemoryMax: rec.Memory,
			TempMin: rec.Temp, TempAvg: rec.Temp, TempMax: rec.Temp,
		}
	}
	b = append(b, `{"ts":`...)
	b = append(appendTime(b, at), `,"samples":`...)
	b = strconv.AppendInt(b, p.Samples, 10)
	for _, v := range []struct {
		name             string
		least, avg, most *float64
	}{{"cpu", p.CPUMin, p.CPUAvg, p.CPUMax}, {"memory", p.MemoryMin, p.MemoryAvg, p.MemoryMax}, {"temp", p.TempMin, p.TempAvg, p.TempMax}} {
		b = append(append(append(b, `,"`...), v.name...), `":{"min":`...)
		b = append(appendNumber(b, v.least), `,"avg":`...)
		b = append(appendNumber(b, v.avg), `,"max":`...)
		b = append(appendNumber(b, v.most), '}')
	}
	b = append(b, `,"uptime_seconds":`...)
	if p.UptimeSeconds == nil {
		return append(b, "null}"...)
	}
	return append(strconv.AppendInt(b, *p.UptimeSeconds, 10), '}')
}

func appendNumber(b []byte, n *float64) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return appendFloat(b, *n)
}
