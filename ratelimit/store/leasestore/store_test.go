package leasestore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

// deviations are the cases that leases do not pass, by design.
var deviations = map[string]string{
	"basic/saturation":    "a hit over the limit is refused without being counted",
	"conditional/twice":   "a hit over the limit is refused without being counted",
	"conditional/race":    "a hit over the limit is refused without being counted",
	"concurrency/readers": "a reader may see hits that are claimed and not used",
	"concurrency/ranks":   "a hit that does not wait for a claim may have a later count",
}

// TestConformance counts with and without leases, for all hits, through one wrapper. The
// inner store's other interfaces stay. After concurrent calls what is left is given back first,
// because a count may be that of the last claim.
func TestConformance(t *testing.T) {
	for name, o := range map[string]*leasestore.Options{
		"unleased": nil, "leased": {All: true, Ahead: time.Hour}, "few": {All: true, Ahead: time.Hour, MaxKeys: 8},
	} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			opts := storetest.Options{Clock: clock, MaxCount: 1 << 62, Subtracts: true, Charges: true, Ledgers: true}
			for _, c := range storetest.Cases(&opts) {
				if o != nil && deviations[c.Name] != "" {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					l := must(leasestore.New(memstore.MustNew(&memstore.Options{Now: clock.Now}), o))
					opts := opts
					if o != nil && slices.Contains([]string{"concurrency/sum", "subtract/race", "conditional/opposite orders"}, c.Name) {
						opts.Flush = func(ratelimit.Store) { require.NoError(t, l.Close()) }
					}
					err := c.Check(l.Store(), &opts)
					if o != nil && c.Name == "charge/race" && err != nil {
						// A charge beside the leases has the state of the store, and one of a claim may have
						// the same as if nothing had been claimed. All other faults are faults.
						require.ErrorContains(t, err, "no order")
						err = nil
					}
					require.NoError(t, err)
					require.NoError(t, l.Close())
				})
			}
		})
	}
}

// plain is a store without optional interfaces.
type plain struct{ inner ratelimit.Store }

func (p plain) Add(ctx context.Context, hits []ratelimit.Hit) error { return p.inner.Add(ctx, hits) }

// Leases do not give a store abilities that it lacks.
func TestConformanceOfPlainStore(t *testing.T) {
	opts := &storetest.Options{MaxCount: 1 << 62, NotConditional: true}
	for _, c := range storetest.Cases(opts) {
		if strings.HasSuffix(c.Name, "/declared") || c.Name == "concurrency/sum" || deviations[c.Name] != "" {
			continue // what was claimed and not used stays in the sum
		}
		t.Run(c.Name, func(t *testing.T) {
			l := must(leasestore.New(plain{memstore.MustNew(nil)}, &leasestore.Options{All: true, Ahead: time.Hour}))
			require.NoError(t, c.Check(l.Store(), opts))
			require.ErrorIs(t, l.Store().(ratelimit.SubtractStore).Subtract(t.Context(), nil), errors.ErrUnsupported)
			_ = l.Close()
		})
	}
}
