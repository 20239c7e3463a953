package sqlstoretest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
)

// CheckTallies says that totals are what there is, whatever happens: random changes by
// several callers at once, so many each, with cascades, errors and transactions that are
// taken back. The store must be empty.
func CheckTallies(t testing.TB, store inventory.Store, callers, changes int) {
	t.Helper()
	churn(t, store, callers, changes)
	CheckTotals(t, store)
}

// churn has callers change records at random.
func churn(t testing.TB, store inventory.Store, callers, rounds int) {
	t.Helper()
	sites := make([]inventory.Record, 4)
	for i := range sites {
		sites[i] = Based(100+i, &inventory.Location{Name: "x", City: "x", Country: string(rune('A' + i%2)), Address: "x"})
	}
	require.NoError(t, Create(t, store, sites...))
	errs := make([]error, callers)
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for range rounds {
				errs[c] = errors.Join(errs[c], step(t, store, random))
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
}

var errBack = errors.New("this is taken back")

// step is one transaction of random changes, every third of which is taken back.
func step(t testing.TB, store inventory.Store, random *rand.Rand) error {
	t.Helper()
	seed := random.Uint64()
	err := store.Change(t.Context(), func(tx inventory.Tx) error {
		random := rand.New(rand.NewPCG(seed, 1)) // the same, if it is run again
		for range 1 + random.IntN(4) {
			err := change(t, tx, random)
			if err != nil && inventory.KindOf(err) == 0 {
				return err
			}
		}
		if random.IntN(3) == 0 {
			return errBack
		}
		return nil
	})
	if errors.Is(err, errBack) {
		return nil
	}
	return err
}

// change is one call. That it is refused is as good as that it is not.
func change(t testing.TB, tx inventory.Tx, random *rand.Rand) error {
	t.Helper()
	ctx, n := t.Context(), random.IntN(20)
	devices, sites := inventory.Of[inventory.Device](), inventory.Of[inventory.Location]()
	device := Fleet(n, n+1)[0].(*inventory.Device)
	site := ID(100 + random.IntN(5)) // one of which is not there
	device.LocationID, device.Status = &site, inventory.DeviceStatus(device.Status.Values()[random.IntN(5)])
	switch random.IntN(8) {
	case 0, 1, 2:
		mtu := int64(1000 + n)
		return tx.Create(ctx, device,
			Based(200+n, &inventory.Interface{DeviceID: device.ID, Name: "a", Type: "fiber", Status: inventory.LinkUp, MTU: &mtu}),
			Based(300+n, &inventory.Event{Severity: inventory.SeverityLow, Type: "x", Message: "x", LocationID: &site, DeviceID: &device.ID}))
	case 3:
		return tx.Create(ctx, Based(400+random.IntN(50), &inventory.User{Username: string(rune('a' + n)), Email: string(rune('a'+n)) + "@x.org", Role: inventory.Editor, InactiveStatus: n%2 == 0}))
	case 4:
		rec, err := tx.Get(ctx, sites, site)
		if err != nil {
			return err
		}
		if err := tx.Delete(ctx, sites, site, rec.Meta().Version); err != nil {
			return err
		}
		return tx.Create(ctx, Based(int(site[len(site)-1]-'0')+100, &inventory.Location{Name: "x", City: "x", Country: "C", Address: "x"}))
	case 5:
		rec, err := tx.Get(ctx, devices, device.ID)
		if err != nil {
			return err
		}
		return tx.Delete(ctx, devices, device.ID, rec.Meta().Version)
	}
	rec, err := tx.Get(ctx, devices, device.ID)
	if err != nil {
		return err
	}
	version := rec.Meta().Version
	*device.Meta() = *rec.Meta()
	device.Version++
	return tx.Update(ctx, device, version)
}

// CheckTotals compares every total that a store keeps with the records.
func CheckTotals(t testing.TB, store inventory.Store) {
	t.Helper()
	for _, r := range inventory.StoredResources() {
		all, err := store.List(t.Context(), &inventory.Query{Resource: r, Count: true})
		require.NoError(t, err)
		require.Len(t, all.Records, int(all.Total), r.Name())
		for _, f := range r.Fields() {
			if f.Counted {
				recountField(t, store, r, f, all.Records)
			}
		}
	}
}

func recountField(t testing.TB, store inventory.Store, r *inventory.Resource, f *inventory.Field, records []inventory.Record) {
	t.Helper()
	have := map[any]int64{}
	for _, rec := range records {
		have[f.Value(rec)]++
	}
	for value, n := range have {
		for _, filter := range []struct {
			op    inventory.Op
			total int64
		}{{inventory.Eq, n}, {inventory.Ne, int64(len(records)) - n}} {
			q := &inventory.Query{Resource: r, Count: true, Limit: 1, Filters: []inventory.Filter{{Field: f, Op: filter.op, Value: value}}}
			page, err := store.List(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, filter.total, page.Total, "%s of which %s is %s %v", r.Name(), f.Name, filter.op, value)
		}
	}
}
