package bookcatalog

import "context"

// Store keeps books. The catalog above it has checked what it is given: a store keeps
// ids and ISBNs unique, and compares versions, for that is what must happen in one step.
//
// A store is safe for concurrent use, keeps no reference to a book it is given, and
// returns books that the caller may change. Errors that are not *Error are failures.
// bookcatalog/storetest has all of this as tests.
type Store interface {
	// Create adds a book. The error is [DuplicateID] if another book has its id, and
	// [DuplicateISBN] if its ISBN13 is not empty and another book has that.
	Create(ctx context.Context, b *Book) error
	// Get returns a book, or [ErrNotFound].
	Get(ctx context.Context, id string) (*Book, error)
	// Replace puts b in place of the version of the book with its id: ErrNotFound if there
	// is no such book, [ErrStale] if it has another version, DuplicateISBN as above.
	Replace(ctx context.Context, b *Book, version int64) error
	// Delete removes the version of a book: ErrNotFound or ErrStale as above.
	Delete(ctx context.Context, id string, version int64) error
	// List returns the books of a query in its order, and how many there would be
	// without Offset, Limit and After. [Query.Select] does it for a store that has
	// all its books at hand.
	List(ctx context.Context, q *Query) (books []Book, total int64, err error)
}
