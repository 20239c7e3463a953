package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
)

// Run tests that the stores that open returns keep the contract of inventory.Store. The
// layers of the contract run in parallel, each with a store for itself, which the next one
// takes over. So open is called a few times, by several goroutines, and again after a case
// that has failed; it must return a new, empty store each time. What there is to close, it
// leaves to t.Cleanup.
func Run(t *testing.T, open func(t testing.TB) inventory.Store) {
	t.Helper()
	free := make(chan *probe, len(layers()))
	for _, layer := range layers() {
		t.Run(layer[0].layer(), func(inner *testing.T) {
			inner.Parallel()
			p := &probe{}
			select {
			case p = <-free:
			default:
				p.store = open(t)
			}
			for _, c := range layer {
				if !inner.Run(c.name(), func(t *testing.T) { c.run(t, p) }) {
					p = &probe{store: open(t)} // what is in the old one, nobody knows
				}
			}
			free <- p
		})
	}
}

// Case is one demand that is made on a store.
type Case struct {
	Name string // its layer and, after a slash, its own name
	Why  string // why it must hold
	test func(p *probe)
	// reads says that the case has no use for an empty store: there is a zoo in it, which it
	// leaves as it is for the next one.
	reads bool
}

func (c Case) layer() string { return c.Name[:strings.Index(c.Name, "/")] }

func (c Case) name() string { return c.Name[strings.Index(c.Name, "/")+1:] }

// Cases are all of them.
func Cases() []Case { return slices.Concat(layers()...) }

func layers() [][]Case {
	return [][]Case{
		basicCases(), constraintCases(), referenceCases(), transactionCases(),
		listCases(), pageCases(), concurrencyCases(), modelCases(),
	}
}

func (c Case) run(t *testing.T, p *probe) {
	p.ctx = t.Context()
	if err := c.check(p); err != nil {
		t.Fatal(err)
	}
}

// Check tests one store, which must be empty, and is empty again if the error is nil. The
// error says what was expected, what came, and why that matters.
func (c Case) Check(ctx context.Context, s inventory.Store) error {
	p := &probe{ctx: ctx, store: s}
	if err := c.check(p); err != nil {
		return err
	}
	return failureOf(func() { p.prepare(false) })
}

// check tests a store with what the case before has left there.
func (c Case) check(p *probe) error {
	err := failureOf(func() {
		p.prepare(c.reads)
		c.test(p)
		if !c.reads {
			p.empty()
		}
	})
	if err != nil {
		return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
	}
	return nil
}
