package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

// defect is a defect of a store, and the cases that must detect it.
type defect struct {
	what     string
	detected []string
	seed     func(b *defective)
}

// unseeded are the cases without a seeded defect, which would take a minute, or several
// processes, to show.
var unseeded = []string{"concurrency/deadline", "concurrency/no orphans"}

// TestEveryCaseCanFail: there is a defect for each case.
func TestEveryCaseCanFail(t *testing.T) {
	t.Parallel()
	detected := slices.Clone(unseeded)
	for _, d := range defects() {
		detected = append(detected, d.detected...)
	}
	for _, c := range storetest.Cases() {
		if !slices.Contains(detected, c.Name) {
			t.Errorf("%s: no defect is seeded for it", c.Name)
		}
	}
}

// TestDefects: the cases that are listed for a defect detect it.
func TestDefects(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		t.Run(d.what, func(t *testing.T) {
			t.Parallel()
			for _, name := range d.detected {
				if !detects(t, name, d.seed) {
					t.Errorf("%s: a store that %s passes", name, d.what)
				}
			}
		})
	}
}

// detects runs one case on a store with a defect, repeatedly because of the concurrent cases.
func detects(t *testing.T, name string, seed func(*defective)) bool {
	t.Helper()
	all := storetest.Cases()
	i := slices.IndexFunc(all, func(c storetest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	for range 50 {
		b := &defective{Store: inventory.NewMemStore()}
		seed(b)
		if err := all[i].Check(t.Context(), b); err != nil {
			if !strings.Contains(err.Error(), all[i].Why) {
				t.Errorf("%s: the failure does not say why: %v", name, err)
			}
			return true
		}
	}
	return false
}

func defects() []defect {
	return slices.Concat(valueDefects(), constraintDefects(), referenceDefects(), transactionDefects(), listDefects(), pageDefects())
}

func valueDefects() []defect {
	return []defect{
		{"loses a field", []string{"basic/stores every field"}, creates(func(rec inventory.Record) {
			if d, ok := rec.(*inventory.Device); ok {
				d.Tags = []string{}
			}
		})},
		{"stores null as zero", []string{"basic/stores missing values"}, creates(func(rec inventory.Record) {
			if m, ok := rec.(*inventory.Metric); ok && m.CPU == nil {
				m.CPU = new(float64)
			}
		})},
		{"truncates strings", []string{"list/large strings"}, creates(func(rec inventory.Record) {
			if r, ok := rec.(*inventory.IdempotencyRecord); ok {
				r.Body = r.Body[:min(len(r.Body), 65536)]
			}
		})},
		{"creates in the wrong order", []string{"basic/several at once"}, func(b *defective) {
			b.create = func(ctx context.Context, tx inventory.Tx, records ...inventory.Record) error {
				records = slices.Clone(records)
				slices.Reverse(records)
				return tx.Create(ctx, records...)
			}
		}},
		{"fails for an unknown id", []string{"basic/absent"}, func(b *defective) {
			b.get = func(ctx context.Context, from inventory.Reader, r *inventory.Resource, id string) (inventory.Record, error) {
				rec, err := from.Get(ctx, r, id)
				if err != nil {
					return nil, errors.New("sql: no rows")
				}
				return rec, nil
			}
		}},
		{"does not update to a missing value", []string{"basic/update"}, func(b *defective) {
			b.update = func(ctx context.Context, tx inventory.Tx, rec inventory.Record, version int64) error {
				old, err := tx.Get(ctx, inventory.ResourceOf(rec), rec.Meta().ID)
				if err != nil {
					return err
				}
				if d, ok := rec.(*inventory.Device); ok && d.Notes == "" {
					d = inventory.Clone(d)
					d.Notes = old.(*inventory.Device).Notes
					return tx.Update(ctx, d, version)
				}
				return tx.Update(ctx, rec, version)
			}
		}},
		{"deletes other records", []string{"basic/delete"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx inventory.Tx, r *inventory.Resource, id string, version int64) error {
				if page, err := tx.List(ctx, &inventory.Query{Resource: r}); err == nil && len(page.Records) > 1 {
					_ = tx.Delete(ctx, r, page.Records[0].Meta().ID, 1)
				}
				return tx.Delete(ctx, r, id, version)
			}
		}},
		{"shares its records", []string{"basic/copies"}, func(b *defective) {
			shared := map[string]inventory.Record{}
			b.get = func(ctx context.Context, from inventory.Reader, r *inventory.Resource, id string) (inventory.Record, error) {
				rec, err := from.Get(ctx, r, id)
				if shared[id] == nil && err == nil {
					shared[id] = rec
				}
				return shared[id], err
			}
			b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
				page, err := from.List(ctx, q)
				if err == nil {
					for i, rec := range page.Records {
						if shared[rec.Meta().ID] != nil {
							page.Records[i] = shared[rec.Meta().ID]
						}
					}
				}
				return page, err
			}
		}},
		{"ignores its context", []string{"basic/canceled"}, func(b *defective) {
			b.change = func(ctx context.Context, f func(inventory.Tx) error) error {
				return b.Store.Change(context.WithoutCancel(ctx), f)
			}
		}},
	}
}

// creates has a store change records before it stores them.
func creates(change func(rec inventory.Record)) func(*defective) {
	return func(b *defective) {
		b.create = func(ctx context.Context, tx inventory.Tx, records ...inventory.Record) error {
			var all []inventory.Record
			for _, rec := range records {
				rec = inventory.Clone(rec)
				change(rec)
				all = append(all, rec)
			}
			return tx.Create(ctx, all...)
		}
	}
}

// forgives has a store return no error of a kind.
func forgives(kind inventory.ErrorKind) func(*defective) {
	return func(b *defective) {
		b.create = func(ctx context.Context, tx inventory.Tx, records ...inventory.Record) error {
			if err := tx.Create(ctx, records...); inventory.KindOf(err) != kind {
				return err
			}
			return nil
		}
	}
}

// refuses has a store find duplicates where there are none.
func refuses(clash func(r *inventory.Resource, a, b inventory.Record) bool) func(*defective) {
	return func(b *defective) {
		b.create = func(ctx context.Context, tx inventory.Tx, records ...inventory.Record) error {
			for _, rec := range records {
				r := inventory.ResourceOf(rec)
				page, err := tx.List(ctx, &inventory.Query{Resource: r})
				if err != nil {
					return err
				}
				if slices.ContainsFunc(page.Records, func(other inventory.Record) bool { return clash(r, rec, other) }) {
					return inventory.Duplicate(r, r.Uniques()[0])
				}
				if err := tx.Create(ctx, rec); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

func constraintDefects() []defect {
	return []defect{
		{"accepts duplicate ids", []string{"constraint/ids"}, forgives(inventory.Conflict)},
		{"accepts duplicate keys", []string{
			"constraint/keys", "constraint/keys of several at once", "concurrency/one key", "constraint/goes on", "model/random transactions",
		}, forgives(inventory.Conflict)},
		{"does not name the key", []string{"constraint/keys"}, func(b *defective) {
			b.update = func(ctx context.Context, tx inventory.Tx, rec inventory.Record, version int64) error {
				err := tx.Update(ctx, rec, version)
				if inventory.KindOf(err) == inventory.Conflict {
					return &inventory.Error{Kind: inventory.Conflict, Message: err.Error()}
				}
				return err
			}
		}},
		{"accepts dangling references", []string{"constraint/references", "model/random transactions"}, forgives(inventory.Invalid)},
		{"does not compare versions", []string{
			"constraint/versions", "concurrency/one of many writers", "reference/new version", "model/random transactions",
		}, func(b *defective) {
			b.update = func(ctx context.Context, tx inventory.Tx, rec inventory.Record, _ int64) error {
				old, err := tx.Get(ctx, inventory.ResourceOf(rec), rec.Meta().ID)
				if err != nil {
					return err
				}
				return tx.Update(ctx, rec, old.Meta().Version)
			}
		}},
		{"ignores case in keys", []string{"constraint/keys byte by byte"}, refuses(
			func(_ *inventory.Resource, a, b inventory.Record) bool {
				l, ok := a.(*inventory.Location)
				return ok && l.SiteCode != "" && strings.EqualFold(l.SiteCode, b.(*inventory.Location).SiteCode)
			})},
		{"treats a missing value as a key", []string{"constraint/half a key"}, refuses(
			func(_ *inventory.Resource, a, b inventory.Record) bool {
				l, ok := a.(*inventory.Location)
				return ok && l.SiteCode == b.(*inventory.Location).SiteCode
			})},
		{"never frees a key", []string{"constraint/keys set free"}, func(b *defective) {
			used := map[string]bool{}
			b.create = func(ctx context.Context, tx inventory.Tx, records ...inventory.Record) error {
				for _, rec := range records {
					if d, ok := rec.(*inventory.Device); ok {
						if used[d.Hostname] {
							return inventory.Duplicate(inventory.ResourceOf(d), inventory.ResourceOf(d).Uniques()[0])
						}
						used[d.Hostname] = true
					}
				}
				return tx.Create(ctx, records...)
			}
		}},
		{"keeps half of a refused call", []string{"constraint/goes on"}, func(b *defective) {
			b.create = func(ctx context.Context, tx inventory.Tx, records ...inventory.Record) error {
				for _, rec := range records {
					if err := tx.Create(ctx, rec); err != nil {
						return err
					}
				}
				return nil
			}
		}},
	}
}

// events returns the events of a device, before it is deleted.
func events(ctx context.Context, tx inventory.Tx, r *inventory.Resource, id string) []inventory.Record {
	if r.Name() != "devices" {
		return nil
	}
	page, err := tx.List(ctx, (&inventory.Query{Resource: inventory.Of[inventory.Event]()}).Where("device_id", id))
	if err != nil {
		return nil
	}
	return page.Records
}

func referenceDefects() []defect {
	return []defect{
		{"deletes records that only mention the deleted one", []string{"reference/cascade", "list/counts"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx inventory.Tx, r *inventory.Resource, id string, version int64) error {
				for _, e := range events(ctx, tx, r, id) {
					_ = tx.Delete(ctx, inventory.ResourceOf(e), e.Meta().ID, e.Meta().Version)
				}
				return tx.Delete(ctx, r, id, version)
			}
		}},
		{"changes a record without a new version", []string{"reference/new version", "reference/cascade", "reference/many"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx inventory.Tx, r *inventory.Resource, id string, version int64) error {
				if r.Name() != "locations" {
					return tx.Delete(ctx, r, id, version)
				}
				q := (&inventory.Query{Resource: inventory.Of[inventory.Device]()}).Where("location_id", id)
				page, err := tx.List(ctx, q)
				if err == nil {
					err = tx.Delete(ctx, r, id, version)
				}
				if err != nil {
					return err
				}
				for _, rec := range page.Records {
					was := rec.Meta().Version
					rec.(*inventory.Device).LocationID = nil
					if err := tx.Update(ctx, rec, was+1); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"refuses to empty a part of a key", []string{"reference/keys without their part"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx inventory.Tx, r *inventory.Resource, id string, version int64) error {
				vlans := inventory.Of[inventory.VLAN]()
				location, _ := vlans.Field("location_id")
				none := &inventory.Query{Resource: vlans, Filters: []inventory.Filter{{Field: location, Op: inventory.IsNull, Value: true}}}
				if page, err := tx.List(ctx, none); err == nil && len(page.Records) > 0 && r.Name() == "locations" {
					return inventory.Duplicate(vlans, vlans.Uniques()[0])
				}
				return tx.Delete(ctx, r, id, version)
			}
		}},
	}
}

// A store with a defect between two steps calls runtime.Gosched there. Otherwise all steps of a
// caller may be over before another one begins, on one processor nearly always.

// loose is not a transaction: each call is committed at once.
type loose struct{ inventory.Store }

func (s loose) Create(ctx context.Context, records ...inventory.Record) error {
	defer runtime.Gosched()
	return s.Change(ctx, func(tx inventory.Tx) error { return tx.Create(ctx, records...) })
}

func (s loose) Update(ctx context.Context, rec inventory.Record, version int64) error {
	defer runtime.Gosched()
	return s.Change(ctx, func(tx inventory.Tx) error { return tx.Update(ctx, rec, version) })
}

func (s loose) Delete(ctx context.Context, r *inventory.Resource, id string, version int64) error {
	defer runtime.Gosched()
	return s.Change(ctx, func(tx inventory.Tx) error { return tx.Delete(ctx, r, id, version) })
}

func transactionDefects() []defect {
	return []defect{
		{"has no transactions", []string{
			"transaction/rolled back after an error", "transaction/rolled back after a panic", "transaction/hidden until it ends",
			"reference/within a transaction", "concurrency/readers", "list/counts",
		}, func(b *defective) {
			b.change = func(_ context.Context, f func(inventory.Tx) error) error { return f(loose{b.Store}) }
		}},
		{"replaces the errors of transactions", []string{"transaction/keeps its error"}, func(b *defective) {
			b.change = func(ctx context.Context, f func(inventory.Tx) error) error {
				if err := b.Store.Change(ctx, f); err != nil {
					return fmt.Errorf("rolled back: %s", err.Error())
				}
				return nil
			}
		}},
		{"lists the state before the transaction", []string{"transaction/sees itself"}, func(b *defective) {
			b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
				page, err := from.List(ctx, q)
				if _, within := from.(inventory.Tx); within && err == nil && len(q.Filters) > 0 {
					page.Records, page.Total = nil, 0
				}
				return page, err
			}
		}},
		{"fails when it is busy", []string{"concurrency/deadlocks", "concurrency/no lost update"}, func(b *defective) {
			var busy sync.Mutex
			b.change = func(ctx context.Context, f func(inventory.Tx) error) error {
				if !busy.TryLock() {
					return errors.New("deadlock detected")
				}
				defer busy.Unlock()
				runtime.Gosched()
				return b.Store.Change(ctx, f)
			}
		}},
	}
}

// queries has a store change each query.
func queries(change func(q *inventory.Query)) func(*defective) {
	return func(b *defective) {
		b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
			other := *q
			other.Filters, other.Sort = slices.Clone(q.Filters), slices.Clone(q.Sort)
			change(&other)
			return from.List(ctx, &other)
		}
	}
}

// filters has a store change filters, or drop them.
func filters(change func(c *inventory.Filter) (keep bool)) func(*defective) {
	return queries(func(q *inventory.Query) {
		q.Filters = slices.DeleteFunc(q.Filters, func(c inventory.Filter) bool {
			before := c
			return !change(&before)
		})
		for i := range q.Filters {
			change(&q.Filters[i])
		}
	})
}

func listDefects() []defect {
	return []defect{
		{"ignores the filter ne", []string{"list/filters", "list/random queries"}, filters(func(c *inventory.Filter) bool {
			return c.Op != inventory.Ne
		})},
		{"treats a string as a pattern", []string{"list/odd strings"}, filters(func(c *inventory.Filter) bool {
			return c.Op != inventory.Contains || c.Value != "%"
		})},
		{"matches everything for an empty list", []string{"list/filters"}, filters(func(c *inventory.Filter) bool {
			values, ok := c.Value.([]any)
			return !ok || len(values) > 0
		})},
		{"folds all letters", []string{"list/search"}, queries(func(q *inventory.Query) { q.Text = strings.ToLower(q.Text) })},
		{"ignores time zones", []string{"list/zones"}, filters(func(c *inventory.Filter) bool {
			if at, ok := c.Value.(time.Time); ok {
				c.Value = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
			}
			return true
		})},
		{"counts the page", []string{"list/counts", "list/random queries"}, func(b *defective) {
			b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
				page, err := from.List(ctx, q)
				if err == nil {
					page.Total = int64(len(page.Records))
				}
				return page, err
			}
		}},
		{"counts later", []string{"concurrency/readers"}, func(b *defective) {
			b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
				page, err := from.List(ctx, q)
				if err != nil {
					return nil, err
				}
				runtime.Gosched()
				later, err := from.List(ctx, q)
				if err == nil {
					page.Total = later.Total
				}
				return page, err
			}
		}},
	}
}

func pageDefects() []defect {
	return []defect{
		{"ignores descending order", []string{"page/every field", "list/random queries"}, queries(func(q *inventory.Query) {
			for i := range q.Sort {
				q.Sort[i].Desc = false
			}
		})},
		{"ignores all sort keys but one", []string{"page/ids", "list/random queries"}, queries(func(q *inventory.Query) {
			if len(q.Sort) > 1 {
				q.Sort = q.Sort[:1]
				if q.After != nil {
					q.After = &inventory.Place{Values: q.After.Values[:1], ID: q.After.ID}
				}
			}
		})},
		{"starts again if the record of a cursor is deleted", []string{"page/deleted place"}, func(b *defective) {
			b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
				other := *q
				if q.After != nil {
					if _, err := from.Get(ctx, q.Resource, q.After.ID); err != nil {
						other.After = nil
					}
				}
				return from.List(ctx, &other)
			}
		}},
		{"continues at an offset", []string{"concurrency/readers"}, func(b *defective) {
			behind := map[string]int64{}
			b.list = func(ctx context.Context, from inventory.Reader, q *inventory.Query) (*inventory.Page, error) {
				if q.Limit == 0 {
					return from.List(ctx, q)
				}
				other := *q
				if q.After != nil {
					other.After, other.Offset = nil, behind[q.After.ID]
				}
				page, err := from.List(ctx, &other)
				runtime.Gosched()
				if err == nil && len(page.Records) > 0 {
					last := page.Records[len(page.Records)-1].Meta().ID
					behind[last] = other.Offset + int64(len(page.Records))
				}
				return page, err
			}
		}},
	}
}
