package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// open creates an inventory with increasing ids and times.
func open() (*records.Engine, *records.MemStore) {
	s := records.NewMemStore(schema)
	var ids, minutes atomic.Int64
	return records.New(s, &records.Options{
		Now:   func() time.Time { return at(int(minutes.Add(1))) },
		NewID: func() (string, error) { return id(int(ids.Add(1))), nil },
	}), s
}

// jane is a caller without a user record.
func jane() records.Caller {
	return records.Caller{Name: "jane", Address: "192.0.2.7", RequestID: "r1"}
}

// log returns the audit log.
func log(t *testing.T, s records.Store) []records.AuditLog {
	t.Helper()
	page, err := s.List(t.Context(), &records.Query{Resource: records.Of[records.AuditLog](schema)})
	ok(t, err)
	var entries []records.AuditLog
	for _, rec := range page.Records {
		entries = append(entries, *rec.(*records.AuditLog))
	}
	return entries
}

// TestLife creates, changes and deletes a device, and checks its entries in the audit log.
func TestLife(t *testing.T) {
	t.Parallel()
	v, s := open()
	ctx, devices := t.Context(), records.Of[inventory.Device](schema)
	d := device("core-1")
	d.Base = records.Base{ID: "mine", Version: 99}
	ok(t, v.Create(ctx, jane(), d))
	equal(t, "what the inventory sets", d.Base, records.Base{ID: id(1), CreatedAt: at(1), UpdatedAt: at(1), Version: 1})

	recs, err := v.Update(ctx, jane(), devices, records.Edit{ID: strings.ToUpper(d.ID), Apply: devices.Patch(patch(t, `{"status":"maintenance"}`))})
	ok(t, err)
	equal(t, "the version", recs[0].Meta().Version, int64(2))
	recs, err = v.Update(ctx, jane(), devices, records.Edit{ID: d.ID, Version: 2, Apply: devices.Patch(patch(t, `{"status":"MAINTENANCE"}`))})
	ok(t, err)
	equal(t, "the version where nothing changed", recs[0].Meta().Version, int64(2))

	draft := device("core-2")
	draft.Base = records.Base{ID: id(7), Version: 7}
	recs, err = v.Update(ctx, jane(), devices, records.Edit{ID: d.ID, Apply: resourceOf(draft).Replacement(draft), Action: "replace"})
	ok(t, err)
	got := recs[0].(*inventory.Device)
	equal(t, "the replacement", []any{got.ID, got.CreatedAt, got.Version, got.Hostname, got.Status},
		[]any{d.ID, d.CreatedAt, int64(3), "core-2", inventory.DeviceActive})

	isKind(t, v.Delete(ctx, jane(), devices, records.Edit{ID: d.ID, Version: 2}), records.Stale)
	ok(t, v.Delete(ctx, jane(), devices, records.Edit{ID: d.ID, Version: 3}))
	isKind(t, v.Delete(ctx, jane(), devices, records.Edit{ID: d.ID}), records.NotFound)

	entries := log(t, s)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
		equal(t, "who and what", []string{e.Actor, e.IPAddress, e.RequestID, e.ResourceType, e.ResourceID}, []string{"jane", "192.0.2.7", "r1", "device", d.ID})
	}
	equal(t, "the actions", strings.Join(actions, " "), "create update replace delete")
	equal(t, "the first change", entries[1].Changes, records.Changes{"status": {Before: "active", After: "maintenance"}})
	equal(t, "the last of the hostname", entries[3].Changes["hostname"], records.Change{Before: "core-2"})
}

// TestAllOrNothing checks that a call with several items is applied atomically, and that the
// error names every item that failed (REFERENCE.md, 2.4).
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	v, s := open()
	ctx, devices := t.Context(), records.Of[inventory.Device](schema)
	a, b := device("a"), device("b")
	ok(t, v.Create(ctx, jane(), a, b))
	_, err := v.Update(ctx, jane(), devices,
		records.Edit{ID: a.ID, Apply: devices.Patch(patch(t, `{"hostname":"c"}`))},
		records.Edit{ID: id(99), Apply: devices.Patch(patch(t, `{}`))},
		records.Edit{ID: "x"},
		records.Edit{ID: b.ID, Version: 9},
		records.Edit{ID: b.ID, Apply: devices.Patch(patch(t, `{"ip":"x","nope":1}`))},
		records.Edit{ID: b.ID, Apply: devices.Patch(patch(t, `{"hostname":"c"}`))})
	e, isError := errors.AsType[*records.Error](err)
	if !isError {
		t.Fatal(err)
	}
	var failed []string
	for _, item := range e.Items {
		failed = append(failed, fmt.Sprint(item.Index, item.ID, item.Err.Kind))
	}
	equal(t, "what failed", failed, []string{
		fmt.Sprint(1, id(99), records.NotFound), fmt.Sprint(2, "x", records.Invalid), fmt.Sprint(3, b.ID, records.Stale),
		fmt.Sprint(4, b.ID, records.Invalid), fmt.Sprint(5, b.ID, records.Conflict),
	})
	if !errtest.Names(e.Message, "5 6 devices item 1 "+id(99)+" found;") {
		t.Errorf("the message is %s", e.Message)
	}
	got, err := s.Get(ctx, devices, a.ID)
	ok(t, err)
	equal(t, "the device that was right", got, records.Record(checked(t, a)))

	err = v.Create(ctx, jane(), device("d"), device(""), device("a"))
	e, _ = errors.AsType[*records.Error](err)
	if e == nil || len(e.Items) != 1 || e.Items[0].Index != 1 {
		t.Errorf("the error is %v", err)
	}
	err = v.Create(ctx, jane(), device("d"), device("a"), device("d"))
	e, _ = errors.AsType[*records.Error](err)
	if e == nil || len(e.Items) != 2 || e.Kind != records.Conflict {
		t.Errorf("the error is %v", err)
	}
	equal(t, "devices", count(t, s, devices), int64(2))
	equal(t, "entries", len(log(t, s)), 2)
}

func checked(t *testing.T, d *inventory.Device) *inventory.Device {
	t.Helper()
	ok(t, resourceOf(d).Check(d))
	return d
}

func TestDry(t *testing.T) {
	t.Parallel()
	v, s := open()
	ctx := t.Context()
	ok(t, v.Create(ctx, jane(), device("a")))
	d := device("b")
	ok(t, v.DryRun(nil).Create(ctx, jane(), d))
	isKind(t, v.DryRun(nil).Create(ctx, jane(), device("a")), records.Conflict)
	if d.ID == "" {
		t.Error("a dry call does not say what would be")
	}
	equal(t, "devices and entries", []any{count(t, s, records.Of[inventory.Device](schema)), len(log(t, s))}, []any{int64(1), 1})
}

// TestWriters checks that of concurrent changes with the same version exactly one succeeds,
// and that no change without a version is lost.
func TestWriters(t *testing.T) {
	t.Parallel()
	v, s := open()
	ctx, devices := t.Context(), records.Of[inventory.Device](schema)
	d := device("a")
	ok(t, v.Create(ctx, jane(), d))
	var wins atomic.Int64
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			_, err := v.Update(ctx, jane(), devices, records.Edit{ID: d.ID, Version: 1, Apply: devices.Patch(patch(t, fmt.Sprintf(`{"role":"r%d"}`, n)))})
			if err == nil {
				wins.Add(1)
			} else if records.KindOf(err) != records.Stale {
				t.Error(err)
			}
		})
	}
	group.Wait()
	equal(t, "wins", wins.Load(), int64(1))
	for range 8 {
		group.Go(func() {
			_, err := v.Update(ctx, jane(), devices, records.Edit{ID: d.ID, Apply: func(rec records.Record) error {
				rec.(*inventory.Device).Notes += "x"
				return nil
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := records.Get[inventory.Device](ctx, s, d.ID)
	ok(t, err)
	equal(t, "the notes", got.Notes, "xxxxxxxx")
}

// overtaken is a store whose first transactions fail because of concurrent changes.
type overtaken struct {
	records.Store
	left int
}

type lateTx struct {
	records.Tx
	store *overtaken
}

func (s *overtaken) Change(ctx context.Context, f func(records.Tx) error) error {
	return s.Store.Change(ctx, func(tx records.Tx) error { return f(&lateTx{tx, s}) })
}

func (tx *lateTx) Update(ctx context.Context, rec records.Record, version int64) error {
	if tx.store.left--; tx.store.left >= 0 {
		return records.Outdated(resourceOf(rec))
	}
	return tx.Tx.Update(ctx, rec, version)
}

// TestOvertaken checks that a change is retried after a concurrent change, but not after an
// error of the edit itself.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	_, s := open()
	v := records.New(&overtaken{Store: s, left: 3}, nil)
	d := device("a")
	ok(t, v.Create(t.Context(), jane(), d))
	calls := 0
	recs, err := v.Update(t.Context(), jane(), records.Of[inventory.Device](schema), records.Edit{ID: d.ID, Apply: func(rec records.Record) error {
		calls++
		return resourceOf(rec).Patch(patch(t, `{"role":"core"}`))(rec)
	}})
	ok(t, err)
	equal(t, "calls and records", []int{calls, len(recs)}, []int{4, 1})
	calls = 0
	_, err = v.Update(t.Context(), jane(), records.Of[inventory.Device](schema), records.Edit{ID: d.ID, Apply: func(records.Record) error {
		calls++
		return records.Outdated(records.Of[inventory.Device](schema))
	}})
	isKind(t, err, records.Stale)
	equal(t, "calls", calls, 1)
}

// TestUsers checks that passwords are never stored, and that a user who deletes their own
// record is in the audit log with their id.
func TestUsers(t *testing.T) {
	t.Parallel()
	v, s := open()
	ctx, users := t.Context(), records.Of[inventory.User](schema)
	u := &inventory.User{Username: "jane", Email: "jane@example.org", Role: "admin", Password: "correct horse"}
	if err := v.Create(ctx, jane(), u); err == nil || records.KindOf(err) != 0 {
		t.Errorf("a password in clear: %v", err)
	}
	u.Password, u.PasswordHash = "", "hash"
	ok(t, v.Create(ctx, jane(), u))
	by := records.Caller{UserID: u.ID, Name: "jane"}
	recs, err := v.Update(ctx, by, users, records.Edit{ID: u.ID, Action: "password", Apply: func(rec records.Record) error {
		rec.(*inventory.User).PasswordHash = "other hash"
		return nil
	}})
	ok(t, err)
	equal(t, "the version", recs[0].Meta().Version, int64(2))
	ok(t, v.Delete(ctx, by, users, records.Edit{ID: u.ID}))
	for i, e := range log(t, s) {
		if (e.UserID != nil) != (i > 0) || e.UserID != nil && *e.UserID != u.ID || e.Actor != "jane" || strings.Contains(fmt.Sprint(e.Changes), "hash") {
			t.Errorf("the entry is %+v", e)
		}
	}
	equal(t, "entries", len(log(t, s)), 3)
}

func TestBounds(t *testing.T) {
	t.Parallel()
	v, s := open()
	ctx := t.Context()
	many := make([]records.Record, records.MaxItems+1)
	for i := range many {
		many[i] = device(fmt.Sprint("d", i))
	}
	isKind(t, v.Create(ctx, jane(), many...), records.Invalid)
	isKind(t, v.Delete(ctx, jane(), records.Of[inventory.Device](schema), make([]records.Edit, records.MaxItems+1)...), records.Invalid)
	ok(t, v.Create(ctx, jane()))
	if err := v.Create(ctx, jane(), device("a"), location("a")); err == nil {
		t.Error("two resources in one call")
	}
	if err := v.Create(ctx, jane(), device("a"), (*inventory.Device)(nil)); err == nil {
		t.Error("no record")
	}
	forged := records.Caller{Name: strings.Repeat("ä\n", 200), Address: "a\x00b", RequestID: "\xff"}
	ok(t, v.Create(ctx, forged, device("a")))
	e := log(t, s)[0]
	equal(t, "the entry", []string{e.Actor, e.IPAddress, e.RequestID}, []string{strings.Repeat("ä?", 50), "a?b", "?"})
	failure := errors.New("no more ids")
	v = records.New(s, &records.Options{NewID: func() (string, error) { return "", failure }})
	if err := v.Create(ctx, jane(), device("b")); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
}

func TestMetricsHaveTheirTime(t *testing.T) {
	t.Parallel()
	v, _ := open()
	d := device("a")
	ok(t, v.Create(t.Context(), jane(), d))
	m, old := &inventory.Metric{DeviceID: d.ID}, &inventory.Metric{DeviceID: d.ID, TS: ptr(at(0))}
	ok(t, v.Create(t.Context(), jane(), m, old))
	equal(t, "the times", []time.Time{*m.TS, *old.TS}, []time.Time{m.CreatedAt, at(0)})
}

// TestThen checks that additional records of a change are stored with it or not at all.
func TestThen(t *testing.T) {
	t.Parallel()
	v, store := open()
	alongside := func(fail error) *records.Engine {
		return v.BeforeCommit(func(ctx context.Context, tx records.Tx) error {
			record := &records.IdempotencyRecord{Base: records.Base{ID: id(900), Version: 1}, Owner: "jane", Key: "1"}
			return errors.Join(tx.Create(ctx, record), fail)
		})
	}
	want := func(n int64) {
		t.Helper()
		for _, r := range []*records.Resource{records.Of[inventory.Location](schema), records.Of[records.IdempotencyRecord](schema)} {
			page, err := store.List(t.Context(), &records.Query{Resource: r, Count: true})
			if err != nil || page.Total != n {
				t.Errorf("%d %s, %v, want %d", page.Total, r.Name, err, n)
			}
		}
	}
	site := func() *inventory.Location {
		return &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
	}
	boom := errors.New("boom")
	if err := alongside(boom).Create(t.Context(), jane(), site()); !errors.Is(err, boom) {
		t.Errorf("got %v, want %v", err, boom)
	}
	if err := alongside(nil).DryRun(nil).Create(t.Context(), jane(), site()); err != nil {
		t.Error(err)
	}
	want(0)
	if err := alongside(nil).Create(t.Context(), jane(), site()); err != nil {
		t.Error(err)
	}
	want(1)
}
