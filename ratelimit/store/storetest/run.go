package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Run tests the contract of ratelimit.Store. It calls open for each case; open may return the
// same store every time, with existing counters, because no two cases use the same keys. It
// closes stores with t.Cleanup. opts may be nil. With -short, fewer calls are made at once, and no case
// waits for states to expire.
func Run(t *testing.T, open func(t *testing.T) ratelimit.Store, opts *Options) {
	t.Helper()
	o := opts.orDefault()
	o.short = testing.Short()
	for _, c := range Cases(&o) {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(open(t), &o); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Case is one requirement for a store.
type Case struct {
	Name string // its layer and, after a slash, its own name
	Why  string // why it must hold
	test func(p *probe)
}

// declaredCases are those of interfaces that a store may lack. Check tests that before every case of the layer.
var declaredCases = []Case{
	{"conditional/declared", "the engine detects the abilities of a store by its type, and the options must agree with it", func(*probe) {}},
	{"subtract/declared", "what a store can do is found out by its type; who reads its options must not be misled", func(*probe) {}},
	{"ledger/declared", "what a store can do is found out by its type; who reads its options must not be misled", func(*probe) {}},
	{"charge/declared", "what a store can do is found out by its type; who reads its options must not be misled", func(*probe) {}},
}

// Cases returns the cases that apply with the options, which may be nil.
func Cases(opts *Options) []Case {
	o := opts.orDefault()
	cases := slices.Concat(basicCases, windowCases, concurrencyCases, declaredCases)
	for _, more := range []struct {
		apply bool
		cases []Case
	}{
		{o.Flush == nil, exactCases},
		{o.Clock != nil, clockCases},
		{!o.NotConditional, conditionalCases},
		{o.Subtracts, subtractCases},
		{o.Charges, chargeCases},
		{o.Charges, algorithmCases()},
		{o.Ledgers, ledgerCases},
	} {
		if more.apply {
			cases = append(cases, more.cases...)
		}
	}
	return cases
}

// Check tests one store. The error states the expected and the actual result, and why the case
// must hold.
func (c Case) Check(store ratelimit.Store, opts *Options) error {
	layer, _, _ := strings.Cut(c.Name, "/")
	var err error
	for range attempts {
		begin := time.Now()
		p := newProbe(store, opts.orDefault())
		err = p.bounded(func() {
			if p.declared(layer); p.err == nil {
				c.test(p)
			}
		})
		if err == nil {
			err = p.err
		}
		// Windows have ended, or will end soon.
		if err == nil || p.Clock != nil || layer != "windows" || time.Since(begin) < hurry || errors.Is(err, errHangs) {
			break
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
}

// declared compares what a store is with what its options claim, for the interface of a layer.
func (p *probe) declared(layer string) {
	name, option := "", ""
	is, claimed := false, false
	switch layer {
	case "conditional":
		_, is = p.store.(ratelimit.ConditionalStore)
		name, option, claimed = "ConditionalStore", "NotConditional", !p.NotConditional
	case "subtract":
		_, is = p.store.(ratelimit.SubtractStore)
		name, option, claimed = "SubtractStore", "Subtracts", p.Subtracts
	case "charge":
		_, is = p.store.(ratelimit.ChargeStore)
		name, option, claimed = "ChargeStore", "Charges", p.Charges
	case "ledger":
		_, is = p.store.(ratelimit.LedgerStore)
		name, option, claimed = "LedgerStore", "Ledgers", p.Ledgers
	}
	if is != claimed {
		p.fail("the store is a ratelimit.%s: %t, but Options.%s claims %t", name, is, option, claimed)
	}
}

const (
	// hurry is shorter than any store retains a counter whose window has ended or ends within
	// the second. A case with such counters that fails after more time is repeated: the
	// machine may be slow.
	hurry    = 500 * time.Millisecond
	attempts = 10
)
