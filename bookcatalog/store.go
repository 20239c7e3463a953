package bookcatalog

import "context"

// Store stores books that the catalog has validated. It enforces unique ids and ISBNs and compares
// versions, because both must be atomic with the change.
//
// A store is safe for concurrent use, retains no book it is given, and returns books that the
// caller may modify. Errors that are not *Error are failures. Package bookcatalog/storetest tests
// these rules.
type Store interface {
	// Create adds a book. The error is a [Duplicate] of "id" if another book has its id, and of
	// "isbn" if its ISBN13 is not empty and another book has that.
	Create(ctx context.Context, b *Book) error
	// Get returns a book, or [ErrNotFound].
	Get(ctx context.Context, id string) (*Book, error)
	// Replace replaces a version of the book with the id of b. The error is ErrNotFound if there
	// is no such book, [ErrStale] if it has another version, or a Duplicate of "isbn".
	Replace(ctx context.Context, b *Book, version int64) error
	// Delete removes a version of a book. The error is ErrNotFound or ErrStale as above.
	Delete(ctx context.Context, id string, version int64) error
	// List returns the books that match a query in its order, and the number of all that match
	// regardless of Offset, Limit and After. [Query.Select] implements it for a store that has
	// all books in memory.
	List(ctx context.Context, q *Query) (books []Book, total int64, err error)
}
