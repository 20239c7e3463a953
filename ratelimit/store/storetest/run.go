package storetest

import (
	"errors"
	"fmt"
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
	test func(p *probe) error
}

// Cases returns the cases that apply with the options, which may be nil.
func Cases(opts *Options) []Case {
	o := opts.orDefault()
	cases := append(basicCases(&o), windowCases(&o)...)
	cases = append(cases, concurrencyCases(&o)...)
	cases = append(cases, conditionalCases(&o)...)
	cases = append(cases, subtractCases(&o)...)
	return append(cases, chargeCases(&o)...)
}

// Check tests one store. The error states the expected and the actual result, and why the case
// must hold.
func (c Case) Check(store ratelimit.Store, opts *Options) error {
	var err error
	for range attempts {
		begin := time.Now()
		p := newProbe(store, opts.orDefault())
		err = p.bounded(func() error { return c.run(p) })
		if err == nil {
			return nil
		}
		if p.Clock != nil || !c.hurries() || time.Since(begin) < hurry || errors.Is(err, errHangs) {
			break
		}
	}
	return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
}

// run runs the case. Those of an interface that the store has not are not asked to find that out.
func (c Case) run(p *probe) error {
	if _, is := p.store.(ratelimit.ChargeStore); strings.HasPrefix(c.Name, "charge/") && !is {
		return checkChargeDeclared(p)
	}
	return c.test(p)
}

// hurries reports whether the case uses windows that have ended or will end soon.
func (c Case) hurries() bool { return strings.HasPrefix(c.Name, "windows/") }

const (
	// hurry is shorter than any store retains a counter whose window has ended or ends within
	// the second. A case with such counters that fails after more time is repeated: the
	// machine may be slow.
	hurry    = 500 * time.Millisecond
	attempts = 10
)
