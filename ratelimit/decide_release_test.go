package ratelimit_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// newTakingBench returns a bench whose store is a ChargeStore.
func newChargingBench(t testing.TB, opts *ratelimit.Options, rules ...ratelimit.Rule) (*bench, *chargeStore) {
	t.Helper()
	b := newBench(t, opts, rules...)
	store := newChargeStore()
	b.store = store.mapStore
	o := *opts
	o.Stats, o.Now = b.stats, b.clock.Now
	b.engine = ratelimit.MustNew(store, &o)
	b.use(rules...)
	return b, store
}

// atOnce is a rule with a limit of n hits in progress.
func atOnce(key string, n uint32) ratelimit.Rule {
	return ratelimit.Rule{Key: key, Limit: &ratelimit.Limit{Algorithm: ratelimit.Concurrency, RequestsPerUnit: n, Unit: ratelimit.Hour}}
}

// A request that fails because of another store holds no permit.
func TestFailedRequestHoldsNoPlace(t *testing.T) {
	seconds := newMapStore()
	b, _ := newChargingBench(t, &ratelimit.Options{PerSecond: seconds}, atOnce("a", 1),
		ratelimit.Rule{Key: "s", Limit: per(5, ratelimit.Second)})
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("a", ""), desc("s", "")}}
	var d ratelimit.Decision
	seconds.err = errDown
	for range 2 {
		err := b.engine.DecideInto(t.Context(), request, &d)
		equal(t, "kind", ratelimit.KindOf(err), ratelimit.StoreFailure)
		equal(t, "holding after a failure", d.HoldsPermits(), false)
	}
	seconds.err = nil
	for _, want := range []string{"ok ok", "over ok", "over ok"} {
		d := b.decideRequest(request)
		equal(t, "codes", codes(d), want)
		equal(t, "holding", d.HoldsPermits(), want == "ok ok")
	}
}
