package bookcatalog

import (
	"cmp"
	"context"
	_ "embed" // the samples
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-playground/validator/v10"
	"github.com/google/uuid"
)

// Options configures a [Catalog]. Nil means the defaults.
type Options struct {
	// LenientISBN accepts any string as an ISBN. Valid ones are still unique.
	LenientISBN bool
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// Catalog validates and applies changes to the books of a [Store]. It is safe for concurrent use.
type Catalog struct {
	store    Store
	validate *validator.Validate
	opts     Options
}

// New returns a catalog over a store.
func New(store Store, opts *Options) *Catalog {
	c := &Catalog{store: store, validate: newValidator(), opts: *cmp.Or(opts, &Options{})}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	return c
}

// ValidID reports whether a string has the form of an id: a UUID of 36 characters.
func ValidID(id string) bool {
	return len(id) == 36 && uuid.Validate(id) == nil
}

// Add adds a book and returns it as stored.
func (c *Catalog) Add(ctx context.Context, draft *Book) (*Book, error) {
	b, err := c.prepare(draft)
	if err != nil {
		return nil, err
	}
	b.ID, b.Version, b.CreatedAt = uuid.Must(uuid.NewV7()).String(), 1, c.now() // ids sort by creation
	b.UpdatedAt = b.CreatedAt
	if err := c.store.Create(ctx, b); err != nil {
		return nil, err
	}
	return b, nil
}

// Get returns a book.
func (c *Catalog) Get(ctx context.Context, id string) (*Book, error) { return c.store.Get(ctx, id) }

// List returns a page of the books that match a query, and the number of all that match.
func (c *Catalog) List(ctx context.Context, q *Query) ([]Book, int64, error) {
	return c.store.List(ctx, q)
}

// Replace replaces a book, which keeps its id and creation time. check is called first with the
// stored book and can refuse the change with an error; it may be nil. After a concurrent change,
// Replace starts over with the new version.
func (c *Catalog) Replace(ctx context.Context, id string, draft *Book, check func(*Book) error) (*Book, error) {
	b, err := c.prepare(draft)
	if err != nil {
		return nil, err
	}
	err = c.change(ctx, id, check, func(old *Book) error {
		b.ID, b.Version, b.CreatedAt = id, old.Version+1, old.CreatedAt
		b.UpdatedAt = c.now()
		return c.store.Replace(ctx, b, old.Version)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Remove removes a book. check works as in [Catalog.Replace].
func (c *Catalog) Remove(ctx context.Context, id string, check func(*Book) error) error {
	return c.change(ctx, id, check, func(old *Book) error { return c.store.Delete(ctx, id, old.Version) })
}

// attempts is the maximum number of attempts of a change that conflicts with other changes.
const attempts = 100

// change applies a change to the current version of a book.
func (c *Catalog) change(ctx context.Context, id string, check, apply func(*Book) error) error {
	for try := 1; ; try++ {
		old, err := c.store.Get(ctx, id)
		if err != nil {
			return err
		}
		if check != nil {
			if err := check(old); err != nil {
				return err
			}
		}
		if err = apply(old); KindOf(err) != Stale || try == attempts {
			return err
		}
	}
}

// now returns the time in the precision of stores: UTC and whole microseconds.
func (c *Catalog) now() time.Time { return c.opts.Now().UTC().Truncate(time.Microsecond) }

// samples contains example books.
//
//go:embed seed.json
var samples []byte

// Seed adds a few example books to an empty catalog. It does nothing if there are books.
func (c *Catalog) Seed(ctx context.Context) error {
	_, total, err := c.List(ctx, &Query{Limit: 1})
	if err != nil || total > 0 {
		return err
	}
	var books []Book
	if err := json.Unmarshal(samples, &books); err != nil {
		return fmt.Errorf("read the samples: %w", err)
	}
	for i := range books {
		if _, err := c.Add(ctx, &books[i]); err != nil {
			return err
		}
	}
	return nil
}
