package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// Run tests that the stores that open returns keep the contract of bookcatalog.Store.
// Each case needs a new, empty one; what there is to close, open leaves to t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) bookcatalog.Store) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(t.Context(), open(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Case is one demand that is made on a store.
type Case struct {
	Name string // its layer and, after a slash, its own name
	Why  string // why it must hold
	test func(ctx context.Context, s bookcatalog.Store) error
}

// Cases are all of them.
func Cases() []Case {
	return slices.Concat(basicCases(), listCases(), concurrencyCases(), modelCases())
}

// Check tests one store, which must be empty. The error says what was expected, what
// came, and why that matters.
func (c Case) Check(ctx context.Context, s bookcatalog.Store) error {
	if err := c.test(ctx, s); err != nil {
		return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
	}
	return nil
}

// first runs the steps until one fails.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
