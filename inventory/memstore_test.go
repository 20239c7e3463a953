package inventory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// put creates records without the checks of the inventory.
func put(t *testing.T, s records.Store, recs ...records.Record) {
	t.Helper()
	ok(t, create(t.Context(), s, recs...))
}

func create(ctx context.Context, s records.Store, recs ...records.Record) error {
	return s.Change(ctx, func(tx records.Tx) error { return tx.Create(ctx, recs...) })
}

// with sets a record's id and first version.
func with[R records.Record](n int, rec R) R {
	*rec.Meta() = records.Base{ID: id(n), CreatedAt: at(n % 60), UpdatedAt: at(n % 60), Version: 1}
	return rec
}

func count(t *testing.T, s records.Reader, r *records.Resource) int64 {
	t.Helper()
	page, err := s.List(t.Context(), &records.Query{Resource: r, Count: true})
	ok(t, err)
	return page.Total
}

// TestUniqueKeys checks the unique keys (REFERENCE.md, 1.3).
func TestUniqueKeys(t *testing.T) {
	t.Parallel()
	s := records.NewMemStore(schema)
	first := with(1, device("a"))
	first.SerialNumber = "S1"
	second := with(2, device("b"))
	user := with(3, &inventory.User{Username: "jane", Email: "jane@example.org", Role: "admin"})
	site := with(4, location("a"))
	site.SiteCode = "B1"
	put(t, s, first, second, user, site,
		with(5, port(id(1), "x")), with(6, port(id(2), "x")),
		with(7, &inventory.VLAN{VLANID: 10, Name: "a", LocationID: ptr(id(4))}),
		with(8, &inventory.VLAN{VLANID: 10, Name: "b"}), with(9, &inventory.VLAN{VLANID: 10, Name: "c"}),
		with(10, &inventory.Link{AInterfaceID: id(5), BInterfaceID: id(6)}))

	serial := with(20, device("c"))
	serial.SerialNumber = "S1"
	code := with(20, location("b"))
	code.SiteCode = "B1"
	for want, rec := range map[string]records.Record{ // messages of the API, some of which the specification prescribes
		"Hostname already exists":                      with(20, device("a")),
		"Serial number already exists":                 serial,
		"Username already exists":                      with(20, &inventory.User{Username: "jane", Email: "j@example.org"}),
		"Email already exists":                         with(20, &inventory.User{Username: "john", Email: "jane@example.org"}),
		"Site code already exists":                     code,
		"Interface name already exists on this device": with(20, port(id(1), "x")),
		"VLAN number already exists at this location":  with(20, &inventory.VLAN{VLANID: 10, LocationID: ptr(id(4))}),
		"Link between these interfaces already exists": with(20, &inventory.Link{AInterfaceID: id(5), BInterfaceID: id(6)}),
		"Id already exists":                            with(1, device("d")),
	} {
		err := create(t.Context(), s, rec)
		isKind(t, err, records.Conflict)
		equal(t, "the message", err.Error(), want)
		if len(fields(t, err, records.Conflict)) == 0 {
			t.Errorf("%s: no field is named", want)
		}
	}
}

func TestGloballyUniqueHostnames(t *testing.T) {
	t.Parallel()
	at := func(n, site int) *inventory.Device {
		d := with(n, device("a"))
		d.LocationID = ptr(id(site))
		return d
	}
	sites := []records.Record{with(1, location("a")), with(2, location("b"))}
	s := records.NewMemStore(schema)
	put(t, s, append(sites, at(3, 1), at(4, 2), with(5, device("a")))...)

	part := inventory.GloballyUniqueHostnames()
	unique, err := inventory.NewSchema(part, part)
	ok(t, err)
	s = records.NewMemStore(unique)
	put(t, s, append(sites, with(5, device("a")))...)
	for _, d := range []*inventory.Device{at(3, 1), with(6, device("a"))} {
		err := create(t.Context(), s, d)
		isKind(t, err, records.Conflict)
		equal(t, "the message", err.Error(), "Hostname already exists")
	}
	if _, err := inventory.NewSchema(records.UniqueKey("devices", "name")); err == nil {
		t.Error("a key of an unknown field is accepted")
	}
}

// TestReferences checks that records refer only to existing records.
func TestReferences(t *testing.T) {
	t.Parallel()
	s := records.NewMemStore(schema)
	put(t, s, with(1, device("a")), with(2, port(id(1), "x")))
	lost := with(20, device("b"))
	lost.LocationID = ptr(id(9))
	for field, rec := range map[string]records.Record{
		"location_id":    lost,
		"device_id":      with(20, port(id(9), "x")),
		"b_interface_id": with(20, &inventory.Link{AInterfaceID: id(2), BInterfaceID: id(9)}),
		"interface_id":   with(20, &inventory.Event{InterfaceID: ptr(id(1))}),
	} {
		err := create(t.Context(), s, rec)
		equal(t, "the field", fields(t, err, records.Invalid), []string{field})
	}
}

// TestCascades checks what deleting a record does to those that refer to it (REFERENCE.md, 1.4).
func TestCascades(t *testing.T) {
	t.Parallel()
	s, ctx := records.NewMemStore(schema), t.Context()
	d := with(2, device("a"))
	d.LocationID = ptr(id(1))
	put(t, s, with(1, location("a")), d, with(3, device("b")),
		with(4, port(id(2), "x")), with(5, port(id(3), "x")), with(6, &inventory.Link{AInterfaceID: id(4), BInterfaceID: id(5)}),
		with(7, &inventory.VLAN{VLANID: 10, LocationID: ptr(id(1))}), with(8, &inventory.Metric{DeviceID: id(2)}),
		with(9, &inventory.Event{DeviceID: ptr(id(2)), InterfaceID: ptr(id(4)), LocationID: ptr(id(1))}))
	remove := func(r *records.Resource, n int) {
		t.Helper()
		ok(t, s.Change(ctx, func(tx records.Tx) error { return tx.Delete(ctx, r, id(n), 1, nil) }))
	}
	remove(records.Of[inventory.Location](schema), 1)
	got, err := records.Get[inventory.Device](ctx, s, id(2))
	ok(t, err)
	equal(t, "the device without a location", []any{got.LocationID, got.Version}, []any{(*string)(nil), int64(2)})
	err = s.Change(ctx, func(tx records.Tx) error {
		return tx.Delete(ctx, records.Of[inventory.Device](schema), id(2), 1, nil)
	})
	isKind(t, err, records.Stale)
	ok(t, s.Change(ctx, func(tx records.Tx) error {
		return tx.Delete(ctx, records.Of[inventory.Device](schema), id(2), 2, nil)
	}))
	for name, want := range map[string]int64{"locations": 0, "devices": 1, "interfaces": 1, "links": 0, "vlans": 1, "metrics": 0, "events": 1} {
		r, _ := schema.Named(name)
		equal(t, name, count(t, s, r), want)
	}
	event, err := records.Get[inventory.Event](ctx, s, id(9))
	ok(t, err)
	equal(t, "the event's references", []any{event.DeviceID, event.InterfaceID, event.LocationID}, []any{(*string)(nil), (*string)(nil), (*string)(nil)})
}

// TestTransactions checks that changes are atomic, however they end.
func TestTransactions(t *testing.T) {
	t.Parallel()
	s, ctx := records.NewMemStore(schema), t.Context()
	devices := records.Of[inventory.Device](schema)
	d := with(1, device("a"))
	put(t, s, d, with(2, port(id(1), "x")))
	changed := records.Clone(d)
	changed.Hostname, changed.Version = "b", 2
	changed.Normalize()
	steps := func(tx records.Tx) error {
		return errors.Join(tx.Update(ctx, changed, 1), tx.Create(ctx, with(3, device("a"))), tx.Delete(ctx, devices, id(1), 2, nil))
	}
	failure := errors.New("failure")
	err := s.Change(ctx, func(tx records.Tx) error {
		ok(t, steps(tx))
		equal(t, "devices within", count(t, tx, devices), int64(1))
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_ = s.Change(ctx, func(tx records.Tx) error {
			ok(t, steps(tx))
			panic("failure")
		})
	}()
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Change(canceled, steps); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	got, err := s.Get(ctx, devices, id(1))
	ok(t, err)
	equal(t, "the device", got, records.Record(d))
	equal(t, "interfaces", count(t, s, records.Of[inventory.Interface](schema)), int64(1))
	isKind(t, create(ctx, s, with(4, device("a"))), records.Conflict)
	put(t, s, with(4, device("b")))
	ok(t, s.Change(ctx, func(tx records.Tx) error { // an *Error is not the end
		isKind(t, tx.Create(ctx, with(5, device("c")), with(6, device("a"))), records.Conflict)
		return tx.Create(ctx, with(6, device("c")))
	}))
	equal(t, "devices", count(t, s, devices), int64(3))
}

// TestStoreCopies checks that the store copies records: later changes by callers have no effect.
func TestStoreCopies(t *testing.T) {
	t.Parallel()
	s, ctx := records.NewMemStore(schema), t.Context()
	d := full()
	d.LocationID = nil
	put(t, s, d)
	d.Tags[0] = "x"
	page, err := s.List(ctx, &records.Query{Resource: records.Of[inventory.Device](schema)})
	ok(t, err)
	page.Records[0].(*inventory.Device).Tags[0] = "y"
	got, err := records.Get[inventory.Device](ctx, s, id(1))
	ok(t, err)
	equal(t, "the tags", got.Tags, []string{"a", "b"})
	put(t, s, with(2, &inventory.User{Username: "jane", Email: "j@example.org", Password: "secret", PasswordHash: "hash"}))
	user, err := records.Get[inventory.User](ctx, s, id(2))
	ok(t, err)
	equal(t, "the stored password", user.Password+user.PasswordHash, "hash")
}
