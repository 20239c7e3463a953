package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Step is the length of the periods of a [MetricRollup].
type Step string

// The steps.
const (
	FiveMinutes Step = "5m"
	OneHour     Step = "1h"
)

// Duration returns the length of the step.
func (s Step) Duration() time.Duration {
	if s == OneHour {
		return time.Hour
	}
	return 5 * time.Minute
}

// Bucket returns the name of the period of a step with a time: the step, and its start in UTC.
// Names of one step sort by time.
func (s Step) Bucket(at time.Time) string {
	return string(s) + " " + at.UTC().Truncate(s.Duration()).Format(time.RFC3339)
}

// MetricRollup summarizes the metrics of a device in a period. A [Roller] writes it; clients don't.
type MetricRollup struct {
	records.Base
	DeviceID      string   `json:"device_id" field:"required,ref=devices:cascade"`
	Bucket        string   `json:"bucket" field:"required,unique=device_id,max=40,index"` // of Step.Bucket
	Samples       int64    `json:"samples"`
	CPUMin        *float64 `json:"cpu_min"`
	CPUAvg        *float64 `json:"cpu_avg"`
	CPUMax        *float64 `json:"cpu_max"`
	MemoryMin     *float64 `json:"memory_min"`
	MemoryAvg     *float64 `json:"memory_avg"`
	MemoryMax     *float64 `json:"memory_max"`
	TempMin       *float64 `json:"temp_min"`
	TempAvg       *float64 `json:"temp_avg"`
	TempMax       *float64 `json:"temp_max"`
	UptimeSeconds *int64   `json:"uptime_seconds"` // the last one
}

// Start returns the start of the period.
func (m *MetricRollup) Start() time.Time {
	_, start, _ := strings.Cut(m.Bucket, " ")
	at, _ := time.Parse(time.RFC3339, start) // of Step.Bucket
	return at
}

// summarize computes the values from the metrics of the period, in the order of their time.
func (m *MetricRollup) summarize(metrics []*Metric) {
	m.Samples = int64(len(metrics))
	for _, f := range []struct {
		of               func(*Metric) *float64
		least, avg, most **float64
	}{
		{func(m *Metric) *float64 { return m.CPU }, &m.CPUMin, &m.CPUAvg, &m.CPUMax},
		{func(m *Metric) *float64 { return m.Memory }, &m.MemoryMin, &m.MemoryAvg, &m.MemoryMax},
		{func(m *Metric) *float64 { return m.Temp }, &m.TempMin, &m.TempAvg, &m.TempMax},
	} {
		var values []float64
		sum := 0.0
		for _, metric := range metrics {
			if v := f.of(metric); v != nil {
				values, sum = append(values, *v), sum+*v
			}
		}
		if len(values) > 0 {
			*f.least, *f.avg, *f.most = new(slices.Min(values)), new(sum/float64(len(values))), new(slices.Max(values))
		}
	}
	for _, metric := range metrics {
		m.UptimeSeconds = cmp.Or(metric.UptimeSeconds, m.UptimeSeconds)
	}
}

// Job is the state of a background job, which one process at a time runs.
type Job struct {
	records.Base
	Name   string     `json:"name" field:"required,unique,max=100"`
	Cursor string     `json:"cursor_id" field:"max=100"` // the id of the record that it handled last
	Owner  string     `json:"owner" field:"max=100"`
	Until  *time.Time `json:"until"` // when another process may take it over
}

// Retention is the time for which metrics are kept by their time. Zero keeps them.
type Retention struct {
	Raw, FiveMinutes, OneHour time.Duration
}

const (
	rollupJob   = "metric-rollups"
	rollupBatch = 1000             // metrics of one call of Roller.Step
	rollupWrite = 100              // records that one transaction writes or deletes
	pruneBatch  = 500              // records of each kind that one call of Roller.Step deletes
	rollupLag   = 15 * time.Second // younger metrics wait: those with lower ids may not be committed
	lease       = time.Minute      // of the process that runs the job
)

// Roller keeps the [MetricRollup] records up to date and deletes what is older than the retention.
// Several processes may run one each on the same store: one of them works at a time.
type Roller struct {
	store     records.Store
	changes   *records.Engine
	retention Retention
	owner     string
	now       func() time.Time
}

// NewRoller returns a roller. now is the clock; nil is time.Now. The error is for a nil store, or one without metrics.
func NewRoller(store records.Store, retention Retention, now func() time.Time) (*Roller, error) {
	if err := records.CheckStore(store, &Metric{}, &MetricRollup{}, &Job{}); err != nil {
		return nil, fmt.Errorf("inventory.NewRoller: %w", err)
	}
	if now == nil {
		now = time.Now
	}
	return &Roller{store, records.New(store, &records.Options{Now: now}), retention, uuid.NewString(), now}, nil
}

// period is a period of a device.
type period struct {
	device string
	step   Step
	bucket string
	start  time.Time
}

// Step rolls up to 1,000 new metrics up and deletes up to 500 old records of each kind. It reports
// whether there is more to do at once. A metric counts from 15 seconds after its creation; a late
// one is added to its period, unless the metrics of that period have been deleted. Each transaction
// writes at most 100 records.
func (r *Roller) Step(ctx context.Context) (more bool, err error) {
	job, err := r.job(ctx)
	if err != nil || job == nil {
		return false, err
	}
	q := &records.Query{Resource: records.Of[Metric](r.store.Schema()), Limit: rollupBatch}
	if job.Cursor != "" {
		q.After = &records.Place{ID: job.Cursor}
	}
	page, err := records.Fresh(r.store).List(ctx, q)
	if err != nil {
		return false, err
	}
	young := slices.IndexFunc(page.Records, func(rec records.Record) bool {
		return rec.Meta().CreatedAt.After(r.now().Add(-rollupLag))
	})
	if young >= 0 {
		page.Records, page.More = page.Records[:young], false
	}
	old, err := r.expired(ctx, job)
	if err != nil || len(page.Records) == 0 && len(old) == 0 {
		return false, err
	}
	if owns, err := r.own(ctx, job); err != nil || !owns {
		return false, err
	}
	if err := r.rollUp(ctx, job, page.Records); err != nil {
		return false, err
	}
	return page.More || len(old) > 0, r.remove(ctx, old)
}

// job returns the state of the job, a new one that is not stored yet, or nil while another process
// has it.
func (r *Roller) job(ctx context.Context) (*Job, error) {
	job, err := records.First[Job](ctx, records.Fresh(r.store), "name", rollupJob)
	switch {
	case err != nil:
		return nil, err
	case job == nil:
		return &Job{Name: rollupJob}, nil
	case job.Owner != r.owner && job.Until != nil && job.Until.After(r.now()):
		return nil, nil
	}
	return job, nil
}

// own makes this process the owner of the job for a minute, unless another one has been faster.
func (r *Roller) own(ctx context.Context, job *Job) (bool, error) {
	job.Owner, job.Until = r.owner, new(r.now().Add(lease))
	err := r.store.Change(ctx, func(tx records.Tx) error { return r.save(ctx, tx, job) })
	switch records.KindOf(err) {
	case records.Stale, records.Conflict:
		return false, nil
	}
	return err == nil, err
}

// save stores the state. It fails if another process has changed it.
func (r *Roller) save(ctx context.Context, tx records.Tx, job *Job) (err error) {
	next := *job
	if job.Version == 0 {
		err = r.changes.Insert(ctx, tx, &next)
	} else {
		next.Version, next.UpdatedAt = job.Version+1, r.now().UTC().Truncate(time.Microsecond)
		err = tx.Update(ctx, &next, job.Version)
	}
	if err == nil {
		*job = next
	}
	return err
}

// rollUp writes the periods of new metrics, and then the cursor.
func (r *Roller) rollUp(ctx context.Context, job *Job, metrics []records.Record) error {
	if len(metrics) == 0 {
		return nil
	}
	periods := map[period]bool{}
	for _, rec := range metrics {
		m := rec.(*Metric)
		if m.TS == nil || r.retention.Raw > 0 && m.TS.Before(r.now().Add(time.Hour-r.retention.Raw)) {
			continue // other metrics of the period may have been deleted
		}
		for _, s := range []Step{FiveMinutes, OneHour} {
			periods[period{m.DeviceID, s, s.Bucket(*m.TS), m.TS.UTC().Truncate(s.Duration())}] = true
		}
	}
	sorted := slices.SortedFunc(maps.Keys(periods), func(a, b period) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.bucket, b.bucket))
	})
	for chunk := range slices.Chunk(sorted, rollupWrite) {
		before := *job
		err := r.store.Change(ctx, func(tx records.Tx) error {
			*job = before // a transaction may run again
			if err := r.save(ctx, tx, job); err != nil {
				return err // another process has taken the job over
			}
			return r.write(ctx, tx, chunk)
		})
		if err != nil {
			return err
		}
	}
	job.Cursor, job.Until = metrics[len(metrics)-1].Meta().ID, new(r.now().Add(lease))
	return r.store.Change(ctx, func(tx records.Tx) error { return r.save(ctx, tx, job) })
}

// write computes periods from their metrics, so that repeating it changes nothing.
func (r *Roller) write(ctx context.Context, tx records.Tx, periods []period) error {
	equal := map[string][]any{} // the devices of each bucket
	var devices, buckets []any
	var first []period // of each bucket
	for _, p := range periods {
		if equal[p.bucket] == nil {
			first, buckets = append(first, p), append(buckets, p.bucket)
		}
		if !slices.Contains(devices, any(p.device)) {
			devices = append(devices, p.device)
		}
		equal[p.bucket] = append(equal[p.bucket], p.device)
	}
	of := map[string][]*Metric{} // the metrics by device and bucket
	for _, p := range first {
		if err := r.measured(ctx, tx, p, equal[p.bucket], of); err != nil {
			return err
		}
	}
	known, err := records.Select[MetricRollup](ctx, tx, &records.Query{}, "device_id", records.Condition{Op: records.In, Value: devices}, "bucket", records.Condition{Op: records.In, Value: buckets})
	if err != nil {
		return err
	}
	have := map[string]*records.Base{}
	for _, m := range known {
		have[m.DeviceID+m.Bucket] = &m.Base
	}
	var created []records.Record
	for _, p := range periods {
		metrics := of[p.device+p.bucket]
		if len(metrics) == 0 {
			continue
		}
		rollup := &MetricRollup{DeviceID: p.device, Bucket: p.bucket}
		rollup.summarize(metrics)
		if err := r.changes.Init(rollup); err != nil {
			return err
		}
		old := have[p.device+p.bucket]
		if old == nil {
			created = append(created, rollup)
			continue
		}
		rollup.ID, rollup.CreatedAt, rollup.Version = old.ID, old.CreatedAt, old.Version+1
		if err := tx.Update(ctx, rollup, old.Version); err != nil {
			return err
		}
	}
	return create(ctx, tx, created)
}

// measured reads the metrics of some devices in a period, in the order of their time.
func (r *Roller) measured(ctx context.Context, tx records.Tx, p period, devices []any, of map[string][]*Metric) error {
	all, err := records.Select[Metric](ctx, tx, &records.Query{}, "device_id", records.Condition{Op: records.In, Value: devices},
		"ts", records.Condition{Op: records.Gte, Value: p.start}, "ts", records.Condition{Op: records.Lt, Value: p.start.Add(p.step.Duration())})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *Metric) int { return a.TS.Compare(*b.TS) })
	for _, m := range all {
		of[m.DeviceID+p.bucket] = append(of[m.DeviceID+p.bucket], m)
	}
	return nil
}

// create adds periods, except those of devices that have been deleted.
func create(ctx context.Context, tx records.Tx, all []records.Record) error {
	if len(all) == 0 {
		return nil
	}
	err := tx.Create(ctx, all...)
	if records.KindOf(err) != records.Invalid {
		return err
	}
	for _, rec := range all {
		if err := tx.Create(ctx, rec); err != nil && records.KindOf(err) != records.Invalid {
			return err
		}
	}
	return nil
}

// expired returns some records that are older than the retention. Metrics that are not rolled up
// yet stay.
func (r *Roller) expired(ctx context.Context, job *Job) (all []records.Record, err error) {
	schema := r.store.Schema()
	find := func(res *records.Resource, field string, value any, from any) error {
		f, _ := res.Field(field)
		q := &records.Query{Resource: res, Limit: pruneBatch, Sort: []records.SortKey{{Field: f}}}
		if q.Where(field, records.Condition{Op: records.Lt, Value: value}); from != nil {
			q.Where(field, records.Condition{Op: records.Gte, Value: from})
		}
		page, err := records.Fresh(r.store).List(ctx, q)
		if err == nil {
			all = append(all, page.Records...)
		}
		return err
	}
	if r.retention.Raw > 0 {
		err = find(records.Of[Metric](schema), "ts", r.now().UTC().Add(-r.retention.Raw), nil)
		all = slices.DeleteFunc(all, func(rec records.Record) bool { return rec.Meta().ID > job.Cursor })
	}
	for _, s := range []struct {
		step Step
		keep time.Duration
	}{{FiveMinutes, r.retention.FiveMinutes}, {OneHour, r.retention.OneHour}} {
		if s.keep > 0 && err == nil {
			err = find(records.Of[MetricRollup](schema), "bucket", s.step.Bucket(r.now().Add(-s.keep)), string(s.step))
		}
	}
	return all, err
}

// remove deletes records, few in a transaction, for which other writers wait.
func (r *Roller) remove(ctx context.Context, all []records.Record) error {
	for chunk := range slices.Chunk(all, rollupWrite) {
		err := r.store.Change(ctx, func(tx records.Tx) error {
			for _, rec := range chunk {
				of, err := tx.Schema().Of(rec)
				if err == nil {
					err = tx.Delete(ctx, of, rec.Meta().ID, rec.Meta().Version, nil)
				}
				if kind := records.KindOf(err); err != nil && kind != records.NotFound && kind != records.Stale {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return errors.Join(errors.New("delete old metrics"), err)
		}
	}
	return nil
}
