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

// total returns the sum of all counts.
func total(counts demo.Counts) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// stored counts the records of a store.
func stored(t testing.TB, s records.Reader) demo.Counts {
	t.Helper()
	counts := demo.Counts{}
	for _, r := range append(schema.Resources(), records.Of[inventory.TaggedVLAN](schema), records.Of[inventory.CableEnd](schema)) {
		page, err := s.List(t.Context(), &records.Query{Resource: r})
		require.NoError(t, err)
		if len(page.Records) > 0 {
			counts[r.Name] = len(page.Records)
		}
	}
	return counts
}

// TestFill fills stores of several sizes: the numbers are in proportion to the devices. The store rejects dangling references and duplicate
// keys; the test also checks that every record is in its canonical form.
func TestFill(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 2, 3, 5, 7, 9, 12, 17, 24, 59, 130, 601, 1202}
	if testing.Short() {
		sizes = []int{1, 5, 24, 130}
	}
	for _, devices := range sizes {
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
			require.Equal(t, devices, counts["devices"])
			require.InDelta(t, devices/5, counts["events"], 3)
			require.GreaterOrEqual(t, counts["links"], devices*3/4-2, "all but patch panels are connected")
			require.Equal(t, 2*counts["cables"], counts["cable-ends"])
			require.Less(t, total(counts), 20*devices+250)
			require.Equal(t, counts, stored(t, store))
			require.Empty(t, list[inventory.User](t, store))
			entries := list[records.AuditLog](t, store)
			last := entries[len(entries)-1]
			require.Equal(t, []string{"demo", "fill", "inventory"}, []string{last.Actor, last.Action, last.ResourceType})
			require.LessOrEqual(t, len(entries), 37)
			for _, e := range entries[:len(entries)-1] {
				device, err := records.Get[inventory.Device](t.Context(), store, e.ResourceID)
				require.NoError(t, err)
				if status, ok := e.Changes["status"]; ok {
					require.EqualValues(t, device.Status, status.After, "what the device is now")
				}
			}
		})
	}
}

// TestLargeNetworkHasUniqueKeys checks the first records of 200,000 devices, where cities have several sites.
func TestLargeNetworkHasUniqueKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	store := discard{batch: func(recs []records.Record) error {
		for _, rec := range recs {
			for _, key := range keys(rec) {
				if seen[key] {
					return errors.New(key + ": duplicate")
				}
				seen[key] = true
			}
		}
		if seen["site ber2"] {
			cancel()
		}
		return nil
	}}
	counts, err := demo.Fill(ctx, store, options(152_500, 0)) // 61 sites
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, seen["site ber2"])
	require.Greater(t, counts["devices"], 50_000)
	require.Less(t, counts["cables"], 100_000, "those of the first sites only")
}

// keys returns the unique keys of a record.
func keys(rec records.Record) []string {
	switch r := rec.(type) {
	case *inventory.Location:
		if r.SiteCode == "" {
			return nil
		}
		return []string{"site " + r.SiteCode}
	case *inventory.Device:
		if r.IP == "" {
			return []string{"host " + r.Hostname, "serial " + r.SerialNumber}
		}
		return []string{"host " + r.Hostname, "serial " + r.SerialNumber, "ip " + r.IP}
	case *inventory.Interface:
		return []string{"mac " + r.MACAddress, "port " + r.DeviceID + r.Name}
	case *inventory.VLAN:
		return []string{fmt.Sprint("vlan ", *r.LocationID, r.VLANID)}
	case *inventory.Prefix:
		return []string{fmt.Sprint("prefix ", r.Prefix, r.VRFID == nil)}
	case *inventory.Address:
		return []string{"address " + r.Address}
	case *inventory.Rack:
		return []string{"rack " + *r.LocationID + r.Name}
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
	c := consistency{t: t, store: store, locations: map[string]*inventory.Location{}, hosts: map[string]*inventory.Device{}, ports: map[string]*inventory.Interface{}}
	c.checkLocations()
	c.checkDevices()
	c.checkInterfaces()
	c.checkLinks()
	c.checkAddresses()
	for _, e := range list[inventory.Event](t, store) {
		require.False(t, e.CreatedAt.Before(c.hosts[*e.DeviceID].CreatedAt))
		if e.Type == "interface" {
			require.Equal(t, *e.DeviceID, c.ports[*e.InterfaceID].DeviceID)
			require.Contains(t, e.Message, c.ports[*e.InterfaceID].Name)
		}
	}
}

// consistency checks records against each other.
type consistency struct {
	t         *testing.T
	store     records.Store
	locations map[string]*inventory.Location
	hosts     map[string]*inventory.Device
	ports     map[string]*inventory.Interface
}

// site returns the code of the site that a location is within.
func (c *consistency) site(id *string) string {
	l := c.locations[*id]
	for l.Kind != inventory.LocationSite {
		l = c.locations[*l.ParentID]
	}
	return l.SiteCode
}

func (c *consistency) checkLocations() {
	kinds := map[inventory.LocationKind]int{}
	all := list[inventory.Location](c.t, c.store)
	for _, l := range all {
		c.locations[l.ID] = l
	}
	for _, l := range all {
		kinds[l.Kind]++
		_, err := time.LoadLocation(l.Timezone)
		require.NoError(c.t, err)
		if l.ParentID != nil {
			require.Contains(c.t, c.locations, *l.ParentID)
		}
	}
	require.Len(c.t, kinds, 5, "regions, sites, buildings, floors and rooms")
}

func (c *consistency) checkDevices() {
	t, racks, units := c.t, map[string]*inventory.Rack{}, map[string]bool{}
	for _, r := range list[inventory.Rack](t, c.store) {
		racks[r.ID] = r
	}
	addresses, statuses, vendors, late, mounted := map[string]bool{}, map[inventory.DeviceStatus]int{}, map[string]string{}, 0, map[inventory.RackFace]int{}
	for _, d := range list[inventory.Device](t, c.store) {
		c.hosts[d.ID] = d
		require.True(t, strings.HasPrefix(d.Hostname, c.site(d.LocationID)+"-"), d.Hostname)
		require.False(t, d.IP != "" && addresses[d.IP], "duplicate address %s", d.IP)
		addresses[d.IP] = true
		statuses[d.Status]++
		if d.RackID != nil {
			mounted[d.RackFace]++
			require.Equal(t, *racks[*d.RackID].LocationID, *d.LocationID)
			first, last := d.Units()
			require.LessOrEqual(t, last, *racks[*d.RackID].Height)
			require.Positive(t, first)
			for unit := first; unit <= last; unit++ {
				for _, face := range []inventory.RackFace{inventory.RackFront, inventory.RackBack} {
					if d.RackFace == "" || d.RackFace == face {
						key := fmt.Sprint(*d.RackID, unit, face)
						require.False(t, units[key], "two devices in unit %d", unit)
						units[key] = true
					}
				}
			}
		}
		if v, ok := vendors[d.Model]; ok {
			require.Equal(t, v, d.Vendor)
		}
		vendors[d.Model] = d.Vendor
		if d.LastSeen != nil && d.Status == inventory.DeviceActive && now().Sub(*d.LastSeen) > time.Hour {
			late++
		}
	}
	require.Greater(t, statuses[inventory.DeviceActive], 1200*95/100)
	require.Len(t, statuses, 5)
	require.Greater(t, len(vendors), 15)
	require.Len(t, mounted, 3, "both faces, and through")
	require.True(t, late > 0 && late < 20, "%d devices work and have not been seen lately", late)
}

func (c *consistency) checkInterfaces() {
	t, macs, members := c.t, map[string]bool{}, map[string]int{}
	all := list[inventory.Interface](t, c.store)
	for _, i := range all {
		c.ports[i.ID] = i
	}
	for _, i := range all {
		require.False(t, macs[i.MACAddress])
		macs[i.MACAddress] = true
		require.True(t, strings.HasPrefix(i.MACAddress, "02:"), "locally administered")
		if c.hosts[i.DeviceID].Vendor == "Juniper" {
			require.Regexp(t, `^(ge|xe|et)-0/0/\d+$|^(fxp|me|em)0$|^ae1$`, i.Name)
		}
		if s := c.hosts[i.DeviceID].Status; s == inventory.DeviceOffline || s == inventory.DeviceDecommissioned {
			require.NotEqual(t, inventory.LinkUp, i.Status)
		}
		if i.LAGID != nil {
			require.Equal(t, "lag", c.ports[*i.LAGID].Type)
			require.Equal(t, i.DeviceID, c.ports[*i.LAGID].DeviceID)
			members[*i.LAGID]++
		}
	}
	require.NotEmpty(t, members)
	for id, n := range members {
		require.Equal(t, 2, n, c.ports[id].Name)
	}
	for _, v := range list[inventory.TaggedVLAN](t, c.store) {
		require.Equal(t, "trunk", c.ports[v.InterfaceID].Mode)
	}
}

// checkLinks checks links, and that cables lead from an interface to the one that its link says.
func (c *consistency) checkLinks() {
	t, between, linked := c.t, 0, map[string]string{}
	for _, l := range list[inventory.Link](t, c.store) {
		a, b := c.ports[l.AInterfaceID], c.ports[l.BInterfaceID]
		require.NotEqual(t, a.DeviceID, b.DeviceID)
		require.Equal(t, a.Speed, b.Speed)
		require.Equal(t, "to "+c.hosts[b.DeviceID].Hostname, a.Description)
		require.Equal(t, "to "+c.hosts[a.DeviceID].Hostname, b.Description)
		require.Equal(t, l.Status == inventory.LinkUp, a.Status == inventory.LinkUp && b.Status == inventory.LinkUp)
		if c.site(c.hosts[a.DeviceID].LocationID) != c.site(c.hosts[b.DeviceID].LocationID) {
			between++
			require.Equal(t, "wan-router", c.hosts[a.DeviceID].Role)
			continue
		}
		linked[a.ID], linked[b.ID] = b.ID, a.ID
	}
	require.Greater(t, between, 15)
	ends, panels := map[string]int{}, 0
	for _, e := range list[inventory.CableEnd](t, c.store) {
		ends[e.CableID]++
	}
	for _, cable := range list[inventory.Cable](t, c.store) {
		require.Equal(t, 2, ends[cable.ID])
		if cable.AInterfaceID == nil || cable.BFrontPortID == nil {
			continue
		}
		path, err := inventory.Trace(t.Context(), c.store, inventory.Port{Type: inventory.PortInterface, ID: *cable.AInterfaceID})
		require.NoError(t, err)
		require.True(t, path.Complete)
		require.Len(t, path.Hops, 9, "an interface, three cables between two pairs of ports, an interface")
		require.Equal(t, linked[path.Hops[0].ID], path.Hops[8].ID)
		if panels++; panels == 20 {
			break
		}
	}
	require.Equal(t, 20, panels)
}

// checkAddresses checks that addresses are in their networks, and that those of interfaces are their primary ones.
func (c *consistency) checkAddresses() {
	t, networks := c.t, map[string]bool{}
	for _, p := range list[inventory.Prefix](t, c.store) {
		networks[p.Prefix] = true
	}
	for _, a := range list[inventory.Address](t, c.store) {
		network := netip.MustParsePrefix(a.Address).Masked()
		require.True(t, networks[network.String()], a.Address)
		if a.InterfaceID != nil && a.Role == "" {
			require.Equal(t, a.Address, c.ports[*a.InterfaceID].IPAddress)
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
	require.Equal(t, 1000, stored(t, store)["devices"])
}

func TestProgress(t *testing.T) {
	t.Parallel()
	opts, last := options(500, 0), 0
	opts.Progress = func(done, of int) {
		require.Equal(t, 500, of)
		require.GreaterOrEqual(t, done, last)
		last = done
	}
	_, err := demo.Fill(t.Context(), records.NewMemStore(schema), opts)
	require.NoError(t, err)
	require.Equal(t, 500, last)
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
	require.Equal(t, last, counts["devices"])
	require.Less(t, last, 4000)
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
	require.Equal(t, written, total(counts))
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
		require.Empty(t, counts)
		require.Equal(t, 2, total(stored(t, store)), "the record and its audit entry")
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
	require.Equal(t, 1000, stored(t, store)["devices"])
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]*demo.Options{
		"-1":      {Devices: -1},
		"5000001": {Devices: demo.MaxDevices + 1},
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

func (discard) Schema() *records.Schema { return schema }

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
		rows += total(counts)
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
