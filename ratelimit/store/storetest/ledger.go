package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

type charges = []ratelimit.Charge

type entry struct {
	state   ratelimit.State
	expires int64
}

// limit returns a maker of charges to a limit whose states outlive the case.
func (p *probe) limit(a ratelimit.Algorithm, n uint32) *maker {
	return p.maker(ratelimit.Limit{RequestsPerUnit: n, Unit: ratelimit.Hour, Algorithm: a})
}

// elapse lets microseconds pass for the charges, and for the store if its clock can be set.
func (p *probe) elapse(micro int64) {
	p.micro += micro
	if p.Clock != nil {
		p.Clock.Set(time.UnixMicro(p.micro))
	}
}

// maker makes charges to a limit as an engine does: it is the store of one.
type maker struct {
	ratelimit.Store
	p       *probe
	most    uint64 // hits at once
	limiter *ratelimit.Limiter
	made    ratelimit.Charge
}

func (p *probe) maker(limit ratelimit.Limit) *maker {
	m := &maker{p: p, most: uint64(max(limit.Burst, limit.RequestsPerUnit))}
	var err error
	m.limiter, err = ratelimit.NewLimiter("charge", m, limit, &ratelimit.Options{Now: func() time.Time { return time.UnixMicro(p.micro) }})
	if err != nil {
		panic(err) // the suite is wrong
	}
	return m
}

// Charge implements ratelimit.ChargeStore.
func (m *maker) Charge(_ context.Context, charges []ratelimit.Charge) error {
	if len(charges) == 0 { // whether it holds the algorithm
		return nil
	}
	m.made = charges[0]
	m.made.Key = bytes.Clone(charges[0].Key)
	charges[0].Apply(&ratelimit.State{})
	return nil
}

// charge returns a charge of n hits.
func (m *maker) charge(name string, n uint64) ratelimit.Charge {
	_, _ = m.limiter.AllowN(m.p.ctx, name+"_"+m.p.run, n)
	return m.made
}

// back returns a charge that gives n hits back. slot is when they were charged, for algorithms that need
// it; 0 is unknown.
func (m *maker) back(name string, n uint64, slot int64) ratelimit.Charge {
	t := m.charge(name, n)
	t.Refund = true
	if t.Algorithm.HasPermits() {
		t.Params[3] = slot
	}
	return t
}

// charges makes one call.
func (p *probe) charges(call charges) error {
	return p.store.(ratelimit.ChargeStore).Charge(p.ctx, call)
}

// charge makes one call and checks its results.
func (p *probe) charge(call ...ratelimit.Charge) {
	if p.err != nil {
		return
	}
	var asked strings.Builder
	for i := range call {
		if i < 8 {
			fmt.Fprintf(&asked, "%s ", describeCharge(&call[i]))
		}
		call[i].Allowed, call[i].State = i%2 == 0, ratelimit.State{-1, -1, -1} // the store sets them
	}
	if err := p.charges(call); err != nil {
		p.fail("Charge(%s) returned the error %q, want none", asked.String(), err)
		return
	}
	for i := range call {
		if err := p.compare(&call[i]); err != nil {
			p.fail("Charge(%s): charge %d: %w", asked.String(), i, err)
		}
	}
}

// compare compares the result of a charge with those of Charge.Apply to what the store may hold.
func (p *probe) compare(got *ratelimit.Charge) error {
	now := time.Now()
	if p.Clock != nil {
		now = p.Clock.Now()
	}
	before := p.states[string(got.Key)]
	if len(before) == 0 || slices.ContainsFunc(before, func(e entry) bool { return e.expires <= max(now.UnixMicro(), got.Now) }) {
		before = append(before, entry{expires: math.MaxInt64})
	}
	var after []entry
	want := *got
	for _, e := range before {
		want = *got
		state := e.state
		want.Apply(&state)
		if want.Allowed != got.Allowed || want.State != got.State {
			continue
		}
		after = append(after, entry{state, want.Expires()})
		if !got.Allowed || got.N == 0 || got.Refund && e.state == (ratelimit.State{}) {
			after = append(after, e)
		}
	}
	if len(after) == 0 {
		return fmt.Errorf("%s at %d µs from a limit with the terms %d: Allowed %t and State %d, want %t and %d",
			describeCharge(got), got.Now, got.Params, got.Allowed, got.State, want.Allowed, want.State)
	}
	slices.SortFunc(after, func(a, b entry) int {
		return slices.Compare(append(a.state[:], a.expires), append(b.state[:], b.expires))
	})
	p.states[string(got.Key)] = slices.Compact(after)
	return nil
}

// describeCharge formats a charge: its shortened key, and how many hits it charges or gives back.
func describeCharge(t *ratelimit.Charge) string {
	key, sign := t.Key, "-"
	if t.Refund {
		sign = "+"
	}
	return fmt.Sprintf("%q%s%d", key[:min(len(key), 80)], sign, t.N)
}
