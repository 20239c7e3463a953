package leasestore_test

import (
	"context"
	"errors"
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
	"subtract/race":       "a reader sees the count of the last claim, and not what was given back since",
}

// TestConformance counts with and without leases, for all hits, through one wrapper. The
// inner store's other interfaces stay.
func TestConformance(t *testing.T) {
	for name, o := range map[string]*leasestore.Options{
		"unleased": nil, "leased": {All: true, Ahead: time.Hour}, "few": {All: true, Ahead: time.Hour, MaxKeys: 8},
	} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			opts := &storetest.Options{Clock: clock, MaxCount: 1 << 62, Subtracts: true, Takes: true}
			for _, c := range storetest.Cases(opts) {
				if o != nil && deviations[c.Name] != "" {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					l := leasestore.New(memstore.New(&memstore.Options{Now: clock.Now}), o)
					require.NoError(t, c.Check(l.Store(), opts))
					require.NoError(t, l.Close())
				})
			}
		})
	}
}

// plain is a store without optional interfaces.
type plain struct{ inner ratelimit.Store }

func (p plain) Add(ctx context.Context, hits []ratelimit.Hit) error { return p.inner.Add(ctx, hits) }

// A store that can't take hits back, or decide at once, is not one because of leases.
func TestConformanceOfPlainStore(t *testing.T) {
	opts := &storetest.Options{MaxCount: 1 << 62, NotConditional: true}
	for _, c := range storetest.Cases(opts) {
		if c.Name == "subtract/declared" || c.Name == "take/declared" || deviations[c.Name] != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			l := leasestore.New(plain{memstore.New(nil)}, &leasestore.Options{All: true, Ahead: time.Hour})
			require.NoError(t, c.Check(l.Store(), opts))
			require.ErrorIs(t, l.Store().(ratelimit.SubtractStore).Subtract(t.Context(), nil), errors.ErrUnsupported)
			_ = l.Close()
		})
	}
}
