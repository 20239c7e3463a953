package demo_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func now() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

func options(devices int, seed uint64) *demo.Options {
	return &demo.Options{Devices: devices, Seed: seed, Now: now()}
}

// watched is a store that passes each batch to a function before it is written.
type watched struct {
	records.Store
	batch func(n int, recs []records.Record) error
	n     int
}

func (s *watched) Change(ctx context.Context, f func(records.Tx) error) error {
	s.n++
	return s.Store.Change(ctx, func(tx records.Tx) error { return f(&watchedTx{tx, s}) })
}

type watchedTx struct {
	records.Tx
	store *watched
}

func (tx *watchedTx) Create(ctx context.Context, recs ...records.Record) error {
	if err := tx.store.batch(tx.store.n, recs); err != nil {
		return err
	}
	return tx.Tx.Create(ctx, recs...)
}

func list[T any](t testing.TB, s records.Reader) []*T {
	t.Helper()
	page, err := s.List(t.Context(), &records.Query{Resource: records.Of[T](schema)})
	require.NoError(t, err)
	all := make([]*T, len(page.Records))
	for i, rec := range page.Records {
		all[i] = rec.(any).(*T)
	}
	return all
}

// stored counts the records of a store.
func stored(t testing.TB, s records.Reader) demo.Counts {
	t.Helper()
	return demo.Counts{
		Locations: len(list[inventory.Location](t, s)), Devices: len(list[inventory.Device](t, s)),
		Interfaces: len(list[inventory.Interface](t, s)), VLANs: len(list[inventory.VLAN](t, s)),
		Racks: len(list[inventory.Rack](t, s)), Prefixes: len(list[inventory.Prefix](t, s)), Addresses: len(list[inventory.Address](t, s)),
		Links: len(list[inventory.Link](t, s)), Metrics: len(list[inventory.Metric](t, s)), Events: len(list[inventory.Event](t, s)),
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	require.Equal(t, demo.Counts{Locations: 60, Racks: 60, Devices: 10_000, Interfaces: 20_000, VLANs: 1000, Prefixes: 60, Addresses: 541, Links: 5000, Metrics: 5000, Events: 2000},
		demo.Plan(demo.DefaultDevices))
	require.Equal(t, 43_721, demo.Plan(demo.DefaultDevices).Total())
	require.Equal(t, 400, demo.Plan(1_000_000).Locations)
	require.Zero(t, demo.Plan(0).Total())
	require.Zero(t, demo.Plan(-1).Total())
}

// TestFill fills stores of several sizes. The store rejects dangling references and duplicate
// keys; the test also checks that every record is in its canonical form.
func TestFill(t *testing.T) {
	t.Parallel()
	for _, devices := range []int{1, 2, 3, 7, 59, 601, 1202} {
		t.Run(fmt.Sprint(devices), func(t *testing.T) {
			t.Parallel()
			store := &watched{Store: records.NewMemStore(schema), batch: func(_ int, recs []records.Record) error {
				require.LessOrEqual(t, len(recs), 1000)
				for _, rec := range recs {
					checked := records.Clone(rec)
					if err := resourceOf(checked).CheckNew(checked); err != nil || !reflect.DeepEqual(rec, checked) {
						return fmt.Errorf("%+v is not canonical: %+v, %v", rec, checked, err)
					}
					if rec.Meta().CreatedAt.After(now()) {
						return fmt.Errorf("%+v was created in the future", rec)
					}
				}
				return nil
			}}
			counts, err := demo.Fill(t.Context(), store, options(devices, uint64(devices)))
			require.NoError(t, err)
			require.Equal(t, demo.Plan(devices), counts)
			require.Equal(t, counts, stored(t, store))
			require.Empty(t, list[inventory.User](t, store))
			entries := list[records.AuditLog](t, store)
			require.Len(t, entries, 1)
			require.Equal(t, []string{"demo", "fill", "inventory"}, []string{entries[0].Actor, entries[0].Action, entries[0].ResourceType})
		})
	}
}

// TestLargeNetworkHasUniqueKeys checks the first records of a million devices, where cities
// have several sites and sites have several parts.
func TestLargeNetworkHasUniqueKeys(t *testing.T) {
	t.Parallel()
	const enough = 30_000
	seen := map[string]bool{}
	store := discard{batch: func(recs []records.Record) error {
		for _, rec := range recs {
			for _, key := range keys(rec) {
				if seen[key] {
					return errors.New(key + ": duplicate")
				}
				seen[key] = true
			}
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	opts := options(1_000_000, 0)
	opts.Progress = func(done, _ int) {
		if done >= enough {
			cancel()
		}
	}
	counts, err := demo.Fill(ctx, store, opts)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, enough, counts.Total())
	require.Equal(t, 400, counts.Locations)
	require.True(t, seen["site ber2"])
	require.Greater(t, counts.VLANs, 500)
}

// keys returns the unique keys of a record.
func keys(rec records.Record) []string {
	switch r := rec.(type) {
	case *inventory.Location:
		return []string{"site " + r.SiteCode}
	case *inventory.Device:
		return []string{"host " + r.Hostname, "serial " + r.SerialNumber, "ip " + r.IP}
	case *inventory.VLAN:
		return []string{fmt.Sprint("vlan ", *r.LocationID, r.VLANID)}
	}
	return nil
}

func TestSeedDeterminesRecords(t *testing.T) {
	t.Parallel()
	filled := func(seed uint64) (recs []records.Record) {
		store := records.NewMemStore(schema)
		_, err := demo.Fill(t.Context(), store, options(300, seed))
		require.NoError(t, err)
		for _, r := range schema.Resources() {
			if r == records.Of[records.AuditLog](schema) {
				continue
			}
			page, err := store.List(t.Context(), &records.Query{Resource: r})
			require.NoError(t, err)
			recs = append(recs, page.Records...)
		}
		return recs
	}
	require.Equal(t, filled(1), filled(1))
	require.NotEqual(t, filled(1), filled(2))
}

func TestRecordsAreConsistent(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(schema)
	_, err := demo.Fill(t.Context(), store, options(1200, 7))
	require.NoError(t, err)
	sites, hosts, ports := map[string]*inventory.Location{}, map[string]*inventory.Device{}, map[string]*inventory.Interface{}
	for _, l := range list[inventory.Location](t, store) {
		sites[l.ID] = l
		zone, err := time.LoadLocation(l.Timezone)
		require.NoError(t, err)
		require.NotNil(t, zone)
	}
	racks, units := map[string]*inventory.Rack{}, map[string]bool{}
	for _, r := range list[inventory.Rack](t, store) {
		racks[r.ID] = r
	}
	networks := map[string]bool{}
	for _, p := range list[inventory.Prefix](t, store) {
		networks[p.Prefix] = true
	}
	for _, a := range list[inventory.Address](t, store) {
		require.True(t, networks[netip.MustParsePrefix(a.Address).Masked().String()], a.Address)
	}
	addresses, statuses, vendors := map[string]bool{}, map[inventory.DeviceStatus]int{}, map[string]string{}
	for _, d := range list[inventory.Device](t, store) {
		hosts[d.ID] = d
		require.True(t, strings.HasPrefix(d.Hostname, sites[*d.LocationID].SiteCode+"-"), d.Hostname)
		require.False(t, addresses[d.IP], "duplicate address %s", d.IP)
		addresses[d.IP] = true
		statuses[d.Status]++
		if d.RackID != nil {
			require.Equal(t, *racks[*d.RackID].LocationID, *d.LocationID)
			require.LessOrEqual(t, *d.RackUnit, *racks[*d.RackID].Height)
			unit := fmt.Sprint(*d.RackID, *d.RackUnit)
			require.False(t, units[unit], "two devices in unit %d", *d.RackUnit)
			units[unit] = true
		}
		if v, ok := vendors[d.Model]; ok {
			require.Equal(t, v, d.Vendor)
		}
		vendors[d.Model] = d.Vendor
		if d.Status == inventory.DeviceActive {
			require.Less(t, now().Sub(*d.LastSeen), time.Hour)
		}
	}
	require.Greater(t, statuses[inventory.DeviceActive], 1200*85/100)
	require.Len(t, statuses, 5)
	require.Greater(t, len(vendors), 15)
	macs := map[string]bool{}
	for _, i := range list[inventory.Interface](t, store) {
		ports[i.ID] = i
		require.False(t, macs[i.MACAddress])
		macs[i.MACAddress] = true
		require.True(t, strings.HasPrefix(i.MACAddress, "02:"), "locally administered")
		if hosts[i.DeviceID].Vendor == "Juniper" {
			require.Regexp(t, `^(ge|xe|et)-0/0/\d+$|^(fxp|me|em)0$`, i.Name)
		}
		if s := hosts[i.DeviceID].Status; s == inventory.DeviceOffline || s == inventory.DeviceDecommissioned {
			require.NotEqual(t, inventory.LinkUp, i.Status)
		}
	}
	for _, l := range list[inventory.Link](t, store) {
		a, b := ports[l.AInterfaceID], ports[l.BInterfaceID]
		require.NotEqual(t, a.DeviceID, b.DeviceID)
		require.Equal(t, a.Speed, b.Speed)
		require.Equal(t, *hosts[a.DeviceID].LocationID, *hosts[b.DeviceID].LocationID)
		require.Equal(t, "to "+hosts[b.DeviceID].Hostname, a.Description)
		require.Equal(t, l.Status == inventory.LinkUp, a.Status == inventory.LinkUp && b.Status == inventory.LinkUp)
	}
	for _, e := range list[inventory.Event](t, store) {
		require.False(t, e.CreatedAt.Before(hosts[*e.DeviceID].CreatedAt))
		if e.Type == "interface" {
			require.Equal(t, *e.DeviceID, ports[*e.InterfaceID].DeviceID)
			require.Contains(t, e.Message, ports[*e.InterfaceID].Name)
		}
	}
}

func TestIDsFollowCreation(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(schema)
	_, err := demo.Fill(t.Context(), store, &demo.Options{Devices: 1000, Now: now()})
	require.NoError(t, err)
	last := time.Time{}
	for _, d := range list[inventory.Device](t, store) {
		require.True(t, records.ValidID(d.ID))
		require.Equal(t, byte('7'), d.ID[14])
		require.False(t, d.CreatedAt.Before(last), "created in the order of ids")
		last = d.CreatedAt
	}
	require.Equal(t, demo.Plan(1000), stored(t, store))
}

func TestProgress(t *testing.T) {
	t.Parallel()
	opts, total, last := options(500, 0), demo.Plan(500).Total(), 0
	opts.Progress = func(done, of int) {
		require.Equal(t, total, of)
		require.Greater(t, done, last)
		last = done
	}
	_, err := demo.Fill(t.Context(), records.NewMemStore(schema), opts)
	require.NoError(t, err)
	require.Equal(t, total, last)
}

// TestInterrupted checks that complete batches stay and are counted.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := records.NewMemStore(schema)
	opts, last := options(4000, 0), 0
	opts.Progress = func(done, of int) {
		if last = done; done >= of/2 {
			cancel()
		}
	}
	counts, err := demo.Fill(ctx, store, opts)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, last, counts.Total())
	require.Less(t, last, demo.Plan(4000).Total())
	require.Equal(t, counts, stored(t, store))

	failure := errors.New("disk full")
	written := 0
	broken := &watched{Store: records.NewMemStore(schema), batch: func(n int, recs []records.Record) error {
		if n == 3 {
			return failure
		}
		written += len(recs)
		return nil
	}}
	counts, err = demo.Fill(t.Context(), broken, options(4000, 0))
	require.ErrorIs(t, err, failure)
	require.Equal(t, written, counts.Total())
	require.Equal(t, counts, stored(t, broken))
}

func TestFillRefusesUsedStore(t *testing.T) {
	t.Parallel()
	for _, rec := range []records.Record{
		&inventory.Location{Name: "Berlin", City: "Berlin", Country: "Germany", Address: "Allee 1"},
		&inventory.Device{Hostname: "a", IP: "192.0.2.1", Model: "m", Vendor: "v", OS: "o", Status: inventory.DeviceActive},
	} {
		store := records.NewMemStore(schema)
		require.NoError(t, records.New(store, nil).Create(t.Context(), records.Caller{}, rec))
		counts, err := demo.Fill(t.Context(), store, options(10, 0))
		require.Equal(t, records.Conflict, records.KindOf(err))
		require.ErrorContains(t, err, resourceOf(rec).Name)
		require.Zero(t, counts)
		require.Equal(t, 1, stored(t, store).Total())
	}
}

func TestConcurrentFills(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(schema)
	results := make(chan error, 2)
	for seed := range uint64(2) {
		go func() {
			_, err := demo.Fill(t.Context(), store, &demo.Options{Devices: 1000, Seed: seed})
			results <- err
		}()
	}
	first, second := <-results, <-results
	require.Equal(t, records.Conflict, records.KindOf(errors.Join(first, second)))
	require.True(t, first == nil || second == nil)
	require.Equal(t, demo.Plan(1000), stored(t, store))
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]*demo.Options{
		"invalid number of devices -1": {Devices: -1},
		"number of devices 5000001":    {Devices: demo.MaxDevices + 1},
		"invalid Now":                  {Now: time.Unix(0, 0)},
	} {
		_, err := demo.Fill(t.Context(), records.NewMemStore(schema), opts)
		require.ErrorContains(t, err, want)
	}
}

// discard is a store that drops what is written.
type discard struct {
	records.Store
	batch func(recs []records.Record) error // may be nil
}

func (s discard) Change(ctx context.Context, f func(records.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(discardTx{nil, s})
}

type discardTx struct {
	records.Tx
	store discard
}

func (tx discardTx) Create(_ context.Context, recs ...records.Record) error {
	if tx.store.batch == nil {
		return nil
	}
	return tx.store.batch(recs)
}

func (discardTx) Schema() *records.Schema { return schema }

func (discardTx) List(context.Context, *records.Query) (*records.Page, error) {
	return &records.Page{}, nil
}

func BenchmarkFill(b *testing.B) {
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		counts, err := demo.Fill(b.Context(), discard{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		rows += counts.Total()
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkCheckNew measures what checking each record would add.
func BenchmarkCheckNew(b *testing.B) {
	store := records.NewMemStore(schema)
	if _, err := demo.Fill(b.Context(), store, options(100, 0)); err != nil {
		b.Fatal(err)
	}
	ports := list[inventory.Interface](b, store)
	for i := 0; b.Loop(); i++ {
		if err := resourceOf(ports[i%len(ports)]).CheckNew(ports[i%len(ports)]); err != nil {
			b.Fatal(err)
		}
	}
}

// schema is the schema of the tests.
var schema = inventory.Schema()

// resourceOf returns the resource of a record.
func resourceOf(rec records.Record) *records.Resource {
	r, err := schema.Of(rec)
	if err != nil {
		panic(err)
	}
	return r
}
