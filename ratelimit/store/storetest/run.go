package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Run tests that the stores which open returns keep the contract of
// ratelimit.Store. Each case gets a store of its own; that may be the same one
// every time, or hold counters already, since no two cases use the same keys.
// Whatever there is to close, open leaves to t.Cleanup. opts may be nil.
func Run(t *testing.T, open func(t *testing.T) ratelimit.Store, opts *Options) {
	t.Helper()
	for _, c := range Cases(opts) {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(open(t), opts); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Case is one demand that is made on a store.
type Case struct {
	Name string // its layer and, after a slash, its own name
	Why  string // why it must hold
	test func(p *probe) error
}

// Cases are those that apply under the options, which may be nil.
func Cases(opts *Options) []Case {
	o := opts.orDefault()
	cases := append(basicCases(&o), windowCases(&o)...)
	cases = append(cases, concurrencyCases(&o)...)
	cases = append(cases, conditionalCases(&o)...)
	return append(cases, subtractCases(&o)...)
}

// Check tests one store. The error says what was expected, what came, and why
// that matters.
func (c Case) Check(store ratelimit.Store, opts *Options) error {
	var err error
	for range attempts {
		begin := time.Now()
		p := newProbe(store, opts.orDefault())
		err = p.patiently(func() error { return c.test(p) })
		if err == nil {
			return nil
		}
		if p.Clock != nil || !c.hurries() || time.Since(begin) < hurry || errors.Is(err, errHangs) {
			break
		}
	}
	return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
}

// hurries reports whether the case uses windows that are over, or soon will be.
func (c Case) hurries() bool { return strings.HasPrefix(c.Name, "windows/") }

const (
	// hurry is less than any store keeps a counter whose window is over, or ends within
	// the second. A case of such counters that has failed in more time than that may have
	// met a slow machine, and is put again.
	hurry    = 500 * time.Millisecond
	attempts = 10
)
