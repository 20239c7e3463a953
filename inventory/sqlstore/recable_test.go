package sqlstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Cables swap their ends in one call, whatever its order, and each has its link and its ends then. A call in which two
// cables get one port is refused.
func TestRecabling(t *testing.T) {
	scaletest.Unraced(t)
	check := func(t *testing.T, store records.Store) {
		for seed := range uint64(scaled(20)) {
			recable(t, store, seed)
		}
	}
	onBoth(t, func(t *testing.T, d *database) { check(t, d.open(t)) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		check(t, records.NewMemStore(inventory.Schema()))
	})
}

func recable(t *testing.T, store records.Store, seed uint64) {
	v, random, ctx := records.New(store, nil), rand.New(rand.NewPCG(seed, 3)), t.Context()
	d := &inventory.Device{Hostname: fmt.Sprint("patch-", seed), IP: "192.0.2.1", Model: "QFX5120", Vendor: "Juniper", OS: "Junos", Status: inventory.DeviceActive}
	require.NoError(t, v.Create(ctx, records.Caller{}, d))
	ports, cables := make([]string, 8), make([]*inventory.Cable, 3)
	for i := range ports {
		p := &inventory.Interface{DeviceID: d.ID, Name: fmt.Sprint("eth", i), Type: "copper"}
		require.NoError(t, v.Create(ctx, records.Caller{}, p))
		ports[i] = p.ID
	}
	for i := range cables {
		cables[i] = &inventory.Cable{AInterfaceID: &ports[2*i], BInterfaceID: &ports[2*i+1], Status: inventory.CableConnected}
		require.NoError(t, v.Create(ctx, records.Caller{}, cables[i]))
	}
	has := func() (pairs [][2]string) {
		for _, c := range cables {
			now, err := records.Get[inventory.Cable](ctx, store, c.ID)
			require.NoError(t, err)
			pairs = append(pairs, [2]string{*now.AInterfaceID, *now.BInterfaceID})
		}
		return pairs
	}
	for step := range 12 {
		want, legal := make([][2]string, len(cables)), true
		drawn := random.Perm(2 * len(cables)) // mostly the ports that are in use
		if random.IntN(3) == 0 {
			drawn = random.Perm(len(ports))
		}
		for i := range want {
			a, b := ports[drawn[2*i]], ports[drawn[2*i+1]]
			want[i] = [2]string{min(a, b), max(a, b)}
		}
		if random.IntN(4) == 0 {
			want[0][0], legal = want[1][0], false
		}
		before := has()
		var edits []records.Edit
		for _, i := range random.Perm(len(cables)) {
			edits = append(edits, records.Edit{ID: cables[i].ID, Apply: func(rec records.Record) error {
				c := rec.(*inventory.Cable)
				c.AInterfaceID, c.BInterfaceID = &want[i][0], &want[i][1]
				return nil
			}})
		}
		_, err := v.Update(ctx, records.Caller{}, records.Of[inventory.Cable](store.Schema()), edits...)
		if !legal {
			require.NotZero(t, records.KindOf(err), "seed %d, step %d: %v is accepted (%v)", seed, step, want, err)
			want = before
		} else {
			require.NoError(t, err, "seed %d, step %d: %v to %v", seed, step, before, want)
		}
		require.Equal(t, want, has(), "seed %d, step %d", seed, step)
		links := 0
		for i, pair := range want {
			n, err := records.Count(ctx, store, &records.Query{Resource: records.Of[inventory.Link](store.Schema())}, "a_interface_id", pair[0], "b_interface_id", pair[1])
			require.NoError(t, err)
			require.EqualValues(t, 1, n, "seed %d, step %d: links of cable %d, %v to %v", seed, step, i, before, want)
			ends, err := records.Count(ctx, store, &records.Query{Resource: records.Of[inventory.CableEnd](store.Schema())}, "cable_id", cables[i].ID)
			require.NoError(t, err)
			require.EqualValues(t, 2, ends, "seed %d, step %d: ends of cable %d", seed, step, i)
			links++
		}
		var in []any
		for _, p := range ports {
			in = append(in, p)
		}
		all, err := records.Select[inventory.Link](ctx, store, &records.Query{Limit: 100}, "a_interface_id", records.Condition{Op: records.In, Value: in})
		require.NoError(t, err)
		require.Len(t, all, links, "seed %d, step %d: links that no cable has, %v to %v", seed, step, before, want)
	}
}
