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

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

// defect is a defect of a store, and the cases that must detect it.
type defect struct {
	what     string
	detected []string
	seed     func(b *defective)
}

// unseeded are the cases without a seeded defect: it would take a minute, or several processes, to
// show.
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
	for i, d := range defects() {
		if testing.Short() && i%4 != 0 {
			continue
		}
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

// TestWithoutDefect: the store of [TestDefects] passes every case while it has no defect.
func TestWithoutDefect(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	if testing.Short() {
		t.Skip("TestMemStore runs the cases too")
	}
	for _, c := range storetest.Cases() {
		if err := c.Check(t.Context(), &defective{Store: records.NewMemStore(storetest.Schema())}); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
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
		b := &defective{Store: records.NewMemStore(storetest.Schema())}
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
		{"loses a field", []string{"basic/stores every field"}, creates(func(rec records.Record) {
			if d, ok := rec.(*inventory.Device); ok {
				d.Tags = []string{}
			}
		})},
		{"stores null as zero", []string{"basic/stores missing values"}, creates(func(rec records.Record) {
			if m, ok := rec.(*inventory.Metric); ok && m.CPU == nil {
				m.CPU = new(float64)
			}
		})},
		{"truncates strings", []string{"list/large strings"}, creates(func(rec records.Record) {
			if r, ok := rec.(*records.IdempotencyRecord); ok {
				r.Body = r.Body[:min(len(r.Body), 65536)]
			}
		})},
		{"creates in the wrong order", []string{"basic/several at once"}, func(b *defective) {
			b.create = func(ctx context.Context, tx records.Tx, recs ...records.Record) error {
				recs = slices.Clone(recs)
				slices.Reverse(recs)
				return tx.Create(ctx, recs...)
			}
		}},
		{"fails for an unknown id", []string{"basic/absent"}, func(b *defective) {
			b.get = func(ctx context.Context, from records.Reader, r *records.Resource, id string) (records.Record, error) {
				rec, err := from.Get(ctx, r, id)
				if err != nil {
					return nil, errors.New("sql: no rows")
				}
				return rec, nil
			}
		}},
		{"does not update to a missing value", []string{"basic/update"}, func(b *defective) {
			b.update = func(ctx context.Context, tx records.Tx, rec records.Record, version int64) error {
				old, err := tx.Get(ctx, resourceOf(rec), rec.Meta().ID)
				if err != nil {
					return err
				}
				if d, ok := rec.(*inventory.Device); ok && d.Notes == "" {
					d = records.Clone(d)
					d.Notes = old.(*inventory.Device).Notes
					return tx.Update(ctx, d, version)
				}
				return tx.Update(ctx, rec, version)
			}
		}},
		{"deletes other records", []string{"basic/delete"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error {
				if page, err := tx.List(ctx, &records.Query{Resource: r}); err == nil && len(page.Records) > 1 {
					_ = tx.Delete(ctx, r, page.Records[0].Meta().ID, 1, nil)
				}
				return tx.Delete(ctx, r, id, version, nil)
			}
		}},
		{"shares its records", []string{"basic/copies"}, func(b *defective) {
			shared := map[string]records.Record{}
			b.get = func(ctx context.Context, from records.Reader, r *records.Resource, id string) (records.Record, error) {
				rec, err := from.Get(ctx, r, id)
				if shared[id] == nil && err == nil {
					shared[id] = rec
				}
				return shared[id], err
			}
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
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
		{"loses the order of the audit log", []string{"transaction/audit chain"}, func(b *defective) {
			b.audit = func(page []records.ChainedEntry) {
				if len(page) > 1 {
					page[0], page[1] = page[1], page[0]
				}
			}
		}},
		{"ignores the number of records to keep", []string{"transaction/prune"}, func(b *defective) {
			b.oldest = func(o *records.Oldest) { o.Keep = 0 }
		}},
		{"ignores the limit of a pruning", []string{"transaction/prune"}, func(b *defective) {
			b.oldest = func(o *records.Oldest) { o.Limit = 100 }
		}},
		{"prunes too few entries of the audit log", []string{"transaction/prune audit"}, func(b *defective) { b.keep = 1 }},
		{"ignores its context", []string{"basic/canceled"}, func(b *defective) {
			b.change = func(ctx context.Context, f func(records.Tx) error) error {
				return b.Store.Change(context.WithoutCancel(ctx), f)
			}
		}},
	}
}

// creates has a store change records before it stores them.
func creates(change func(rec records.Record)) func(*defective) {
	return func(b *defective) {
		b.create = func(ctx context.Context, tx records.Tx, recs ...records.Record) error {
			var all []records.Record
			for _, rec := range recs {
				rec = records.Clone(rec)
				change(rec)
				all = append(all, rec)
			}
			return tx.Create(ctx, all...)
		}
	}
}

// forgives has a store return no error of a kind.
func forgives(kind records.ErrorKind) func(*defective) {
	return func(b *defective) {
		b.create = func(ctx context.Context, tx records.Tx, recs ...records.Record) error {
			if err := tx.Create(ctx, recs...); records.KindOf(err) != kind {
				return err
			}
			return nil
		}
	}
}

// refuses has a store find duplicates where there are none.
func refuses(clash func(r *records.Resource, a, b records.Record) bool) func(*defective) {
	return func(b *defective) {
		b.create = func(ctx context.Context, tx records.Tx, recs ...records.Record) error {
			for _, rec := range recs {
				r := resourceOf(rec)
				page, err := tx.List(ctx, &records.Query{Resource: r})
				if err != nil {
					return err
				}
				if slices.ContainsFunc(page.Records, func(other records.Record) bool { return clash(r, rec, other) }) {
					return records.Duplicate(r, r.Uniques()[0])
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
		{"accepts duplicate ids", []string{"constraint/ids"}, forgives(records.Conflict)},
		{"accepts duplicate keys", []string{
			"constraint/keys", "constraint/keys of several at once", "concurrency/one key", "constraint/goes on", "model/random transactions",
		}, forgives(records.Conflict)},
		{"does not name the key", []string{"constraint/keys"}, func(b *defective) {
			b.update = func(ctx context.Context, tx records.Tx, rec records.Record, version int64) error {
				err := tx.Update(ctx, rec, version)
				if records.KindOf(err) == records.Conflict {
					return &records.Error{Kind: records.Conflict, Message: err.Error()}
				}
				return err
			}
		}},
		{"accepts dangling references", []string{"constraint/references", "model/random transactions"}, forgives(records.Invalid)},
		{"does not compare versions", []string{
			"constraint/versions", "concurrency/one of many writers", "reference/new version", "model/random transactions",
		}, func(b *defective) {
			b.update = func(ctx context.Context, tx records.Tx, rec records.Record, _ int64) error {
				old, err := tx.Get(ctx, resourceOf(rec), rec.Meta().ID)
				if err != nil {
					return err
				}
				return tx.Update(ctx, rec, old.Meta().Version)
			}
		}},
		{"ignores case in keys", []string{"constraint/keys byte by byte"}, refuses(
			func(_ *records.Resource, a, b records.Record) bool {
				l, ok := a.(*inventory.Location)
				return ok && l.SiteCode != "" && strings.EqualFold(l.SiteCode, b.(*inventory.Location).SiteCode)
			})},
		{"treats a missing value as a key", []string{"constraint/half a key"}, refuses(
			func(_ *records.Resource, a, b records.Record) bool {
				l, ok := a.(*inventory.Location)
				return ok && l.SiteCode == b.(*inventory.Location).SiteCode
			})},
		{"never frees a key", []string{"constraint/keys set free"}, func(b *defective) {
			used := map[string]bool{}
			b.create = func(ctx context.Context, tx records.Tx, recs ...records.Record) error {
				for _, rec := range recs {
					if d, ok := rec.(*inventory.Device); ok {
						if used[d.Hostname] {
							return records.Duplicate(resourceOf(d), resourceOf(d).Uniques()[0])
						}
						used[d.Hostname] = true
					}
				}
				return tx.Create(ctx, recs...)
			}
		}},
		{"keeps half of a refused call", []string{"constraint/goes on"}, func(b *defective) {
			b.create = func(ctx context.Context, tx records.Tx, recs ...records.Record) error {
				for _, rec := range recs {
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
func events(ctx context.Context, tx records.Tx, r *records.Resource, id string) []records.Record {
	if r.Name != "devices" {
		return nil
	}
	page, err := tx.List(ctx, (&records.Query{Resource: records.Of[inventory.Event](storetest.Schema())}).Where("device_id", id))
	if err != nil {
		return nil
	}
	return page.Records
}

func referenceDefects() []defect {
	return []defect{
		{"reports no effects", []string{"reference/effects"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error {
				tx.(*reporting).effects = nil
				return tx.Delete(ctx, r, id, version, nil)
			}
		}},
		{"deletes records that only mention the deleted one", []string{"reference/cascade", "list/counts"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error {
				for _, e := range events(ctx, tx, r, id) {
					_ = tx.Delete(ctx, resourceOf(e), e.Meta().ID, e.Meta().Version, nil)
				}
				return tx.Delete(ctx, r, id, version, nil)
			}
		}},
		{"changes a record without a new version", []string{"reference/new version", "reference/cascade", "reference/many"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error {
				if r.Name != "locations" {
					return tx.Delete(ctx, r, id, version, nil)
				}
				q := (&records.Query{Resource: records.Of[inventory.Device](storetest.Schema())}).Where("location_id", id)
				page, err := tx.List(ctx, q)
				if err == nil {
					err = tx.Delete(ctx, r, id, version, nil)
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
		{"hides that an emptied reference makes a duplicate", []string{"constraint/keys without a reference"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error {
				err := tx.Delete(ctx, r, id, version, nil)
				if records.KindOf(err) == records.Conflict {
					return nil
				}
				return err
			}
		}},
		{"refuses to empty a part of a key", []string{"reference/keys without their part"}, func(b *defective) {
			b.remove = func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error {
				vlans := records.Of[inventory.VLAN](storetest.Schema())
				location, _ := vlans.Field("location_id")
				none := &records.Query{Resource: vlans, Filters: []records.Filter{{Field: location, Op: records.IsNull, Value: true}}}
				if page, err := tx.List(ctx, none); err == nil && len(page.Records) > 0 && r.Name == "locations" {
					return records.Duplicate(vlans, vlans.Uniques()[0])
				}
				return tx.Delete(ctx, r, id, version, nil)
			}
		}},
	}
}

// A store with a defect between two steps calls runtime.Gosched there. Otherwise all steps of a
// caller may be over before another one begins, on one processor nearly always.

// loose is not a transaction: each call is committed at once.
type loose struct{ records.Store }

func (s loose) Create(ctx context.Context, recs ...records.Record) error {
	defer runtime.Gosched()
	return s.Change(ctx, func(tx records.Tx) error { return tx.Create(ctx, recs...) })
}

func (s loose) Update(ctx context.Context, rec records.Record, version int64) error {
	defer runtime.Gosched()
	return s.Change(ctx, func(tx records.Tx) error { return tx.Update(ctx, rec, version) })
}

func (s loose) Delete(ctx context.Context, r *records.Resource, id string, version int64, effects func(*records.Effect) error) error {
	defer runtime.Gosched()
	return s.Change(ctx, func(tx records.Tx) error { return tx.Delete(ctx, r, id, version, effects) })
}

func transactionDefects() []defect {
	return []defect{
		{"has no transactions", []string{
			"transaction/rolled back after an error", "transaction/rolled back after a panic", "transaction/hidden until it ends",
			"reference/within a transaction", "concurrency/readers", "list/counts",
		}, func(b *defective) {
			b.change = func(_ context.Context, f func(records.Tx) error) error { return f(loose{b.Store}) }
		}},
		{"replaces the errors of transactions", []string{"transaction/keeps its error"}, func(b *defective) {
			b.change = func(ctx context.Context, f func(records.Tx) error) error {
				if err := b.Store.Change(ctx, f); err != nil {
					return fmt.Errorf("rolled back: %s", err.Error())
				}
				return nil
			}
		}},
		{"lists the state before the transaction", []string{"transaction/sees itself"}, func(b *defective) {
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				page, err := from.List(ctx, q)
				if _, within := from.(records.Tx); within && err == nil && len(q.Filters) > 0 {
					page.Records, page.Total = nil, 0
				}
				return page, err
			}
		}},
		{"fails when it is busy", []string{"concurrency/deadlocks", "concurrency/no lost update"}, func(b *defective) {
			var busy sync.Mutex
			b.change = func(ctx context.Context, f func(records.Tx) error) error {
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

// resourceOf returns the resource of a record.
func resourceOf(rec records.Record) *records.Resource {
	r, err := storetest.Schema().Of(rec)
	if err != nil {
		panic(err)
	}
	return r
}
