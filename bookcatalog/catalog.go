package bookcatalog

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Options are the choices of a [Catalog]. Nil means the defaults.
type Options struct {
	// LenientISBN takes any text as an ISBN. One that is valid is still unique.
	LenientISBN bool
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewID makes the id of a new book, in the order of creation.
	// Default: a UUID of version 7.
	NewID func() (string, error)
}

// Catalog is the rules of the book catalog above a [Store]: what a book must be, and
// what becomes of it when it changes. It is safe for concurrent use.
type Catalog struct {
	store Store
	rules *rules
	opts  Options
}

// New makes a catalog over a store.
func New(store Store, opts *Options) *Catalog {
	c := &Catalog{store: store, rules: newRules()}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	if c.opts.NewID == nil {
		c.opts.NewID = newID
	}
	return c
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// ValidID reports whether a text has the form of an id: a UUID of 36 characters.
func ValidID(id string) bool {
	return len(id) == 36 && uuid.Validate(id) == nil
}

// Add adds a book to the catalog and returns it as it is there.
func (c *Catalog) Add(ctx context.Context, draft *Book) (*Book, error) {
	b, err := c.prepare(draft)
	if err != nil {
		return nil, err
	}
	if b.ID, err = c.opts.NewID(); err != nil {
		return nil, fmt.Errorf("make an id: %w", err)
	}
	b.Version, b.CreatedAt = 1, c.now()
	b.UpdatedAt = b.CreatedAt
	if err := c.store.Create(ctx, b); err != nil {
		return nil, err
	}
	return b, nil
}

// Get returns a book.
func (c *Catalog) Get(ctx context.Context, id string) (*Book, error) { return c.store.Get(ctx, id) }

// List returns the books of a query, and how many there would be without its bounds.
func (c *Catalog) List(ctx context.Context, q *Query) ([]Book, int64, error) {
	return c.store.List(ctx, q)
}

// Replace puts the draft in place of a book, which keeps its id and the time it was
// created. may is asked first, with the book as it is, and may refuse with an error; nil
// refuses nothing. If somebody else changes the book in between, it is asked
// again about the new one.
func (c *Catalog) Replace(ctx context.Context, id string, draft *Book, may func(*Book) error) (*Book, error) {
	b, err := c.prepare(draft)
	if err != nil {
		return nil, err
	}
	err = c.change(ctx, id, may, func(old *Book) error {
		b.ID, b.Version, b.CreatedAt = id, old.Version+1, old.CreatedAt
		b.UpdatedAt = c.now()
		return c.store.Replace(ctx, b, old.Version)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Remove removes a book. may is asked first, as in [Catalog.Replace].
func (c *Catalog) Remove(ctx context.Context, id string, may func(*Book) error) error {
	return c.change(ctx, id, may, func(old *Book) error { return c.store.Delete(ctx, id, old.Version) })
}

// attempts is how often a change is tried that others keep coming before.
const attempts = 100

// change reads a book and changes that version of it.
func (c *Catalog) change(ctx context.Context, id string, may, apply func(*Book) error) error {
	for try := 1; ; try++ {
		old, err := c.store.Get(ctx, id)
		if err != nil {
			return err
		}
		if may != nil {
			if err := may(old); err != nil {
				return err
			}
		}
		if err = apply(old); KindOf(err) != Stale || try == attempts {
			return err
		}
	}
}

// prepare checks a draft and makes a book of it.
func (c *Catalog) prepare(draft *Book) (*Book, error) {
	if err := c.rules.check(draft, c.opts.LenientISBN); err != nil {
		return nil, err
	}
	b := draft.Clone()
	b.ISBN13 = ""
	if isbn13, err := ParseISBN(b.ISBN); err == nil {
		b.ISBN13 = isbn13
	}
	return b, nil
}

// now is the time as stores keep it: in UTC and whole microseconds.
func (c *Catalog) now() time.Time { return c.opts.Now().UTC().Truncate(time.Microsecond) }
