package sqlstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// checkAddresses has two stores with one database take 200 addresses, fewer with -short, and 48 prefixes of one prefix at the
// same time, in which some are taken: each call gets another one, and all free ones are used.
func checkAddresses(t *testing.T, stores [2]records.Store) {
	t.Helper()
	c := &cabling{T: t, by: records.Caller{Name: "test"}, engines: [2]*records.Engine{records.New(stores[0], nil), records.New(stores[1], nil)}}
	number := 200
	if testing.Short() {
		number = 100
	}
	vrf := c.add(&inventory.VRF{Name: "red"})
	for _, of := range []*string{nil, new(vrf)} {
		prefix := c.add(&inventory.Prefix{Prefix: "10.0.0.0/24", VRFID: of})
		for _, taken := range []string{"10.0.0.3/24", "10.0.0.100/32"} {
			c.add(&inventory.Address{Address: taken, VRFID: of})
		}
		c.allocate(prefix, number, inventory.NextAddress, func(p *inventory.Prefix, value string) records.Record {
			return &inventory.Address{Address: value, VRFID: p.VRFID}
		})
		c.add(&inventory.Prefix{Prefix: "10.0.0.64/26", VRFID: of})
		c.allocate(prefix, 48, inventory.NextPrefix(30), func(p *inventory.Prefix, value string) records.Record {
			return &inventory.Prefix{Prefix: value, VRFID: p.VRFID}
		})
		err := inventory.Allocate(t.Context(), c.engines[0], prefix, inventory.NextPrefix(30), func(context.Context, *records.Engine, *inventory.Prefix, string) error { return nil })
		require.ErrorContains(t, err, "Prefix 10.0.0.0/24 has no free space for a prefix of length 30")
	}
	last := map[string]bool{}
	for _, rec := range c.list(0, (&records.Query{Resource: records.Of[inventory.Address](stores[0].Schema())}).Where("vrf_id", vrf)) {
		last[rec.(*inventory.Address).Address] = true
	}
	require.Len(t, last, number+2)
	require.True(t, last[fmt.Sprintf("10.0.0.%d/24", number+2)] && !last[fmt.Sprintf("10.0.0.%d/24", number+3)], "the lowest addresses are used")
}

// allocate makes calls that create records with free values at the same time.
func (c *cabling) allocate(prefix string, calls int, next inventory.Space, rec func(p *inventory.Prefix, value string) records.Record) {
	c.Helper()
	change := func(ctx context.Context, v *records.Engine) error {
		return inventory.Allocate(ctx, v, prefix, next, func(ctx context.Context, in *records.Engine, p *inventory.Prefix, value string) error {
			return in.Create(ctx, c.by, rec(p, value))
		})
	}
	changes := make([]func(context.Context, *records.Engine) error, calls)
	for i := range changes {
		changes[i] = change
	}
	for _, err := range c.both(changes...) {
		require.NoError(c, err) // the unique keys say that the values differ
	}
}
