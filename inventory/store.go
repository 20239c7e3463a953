package inventory

import "context"

// Store keeps records. What stands above it has checked what it is given ([Check]); a
// store does what must happen in one step: it keeps ids and the keys of [Resource.Uniques]
// unique, sees that what a record refers to is there, does what [Field.Ref] says when that
// is deleted, and compares versions.
//
// A store is safe for concurrent use, keeps no reference to a record it is given, and
// returns records that the caller may change. Errors that are not *Error are failures.
//
// What only some stores can do is an optional interface, such as [Pinger].
type Store interface {
	Reader
	// Change runs f in a transaction. If f returns an error, or panics, nothing that it did
	// has happened. f may be run again from the beginning, where the database asks for that,
	// and must use tx only.
	Change(ctx context.Context, f func(tx Tx) error) error
}

// Reader is the reading half of a store.
type Reader interface {
	// Get returns a record, or [Absent].
	Get(ctx context.Context, r *Resource, id string) (Record, error)
	// List returns the records of a query in its order. [Query.Select] says what that is.
	List(ctx context.Context, q *Query) (*Page, error)
}

// Tx is a transaction. After an *Error it goes on as if the call had not been made, so that
// the other items of a bulk call can be tried too; after any other error it
// is of no more use.
type Tx interface {
	Reader
	// Create adds records. The error is [DuplicateID], [Duplicate] or [Dangling]; with
	// several records it is about one of them, and none is added.
	Create(ctx context.Context, records ...Record) error
	// Update puts a record in place of the version of the one with its id: [Absent] if
	// there is none, [Outdated] if it has another version, Duplicate and Dangling as above.
	Update(ctx context.Context, rec Record, version int64) error
	// Delete removes the version of a record: Absent or Outdated as above. What refers to it
	// goes too or is changed, as [Reference] says. Such a change is one like any other, with
	// a version of its own: what somebody holds of the record from before is no longer right.
	Delete(ctx context.Context, r *Resource, id string, version int64) error
}

// FreshReader is a [Store] that may read from a replica, which is a moment behind.
type FreshReader interface {
	// Fresh reads what the changes that have returned have made.
	Fresh() Reader
}

// Fresh is the Fresh of a store that has one, and else what it is given. It is for what
// must not be of a moment ago: an account that may have been closed just now, a key that
// was just made.
func Fresh(from Reader) Reader {
	if store, ok := from.(FreshReader); ok {
		return store.Fresh()
	}
	return from
}

// Page is what a list comes to.
type Page struct {
	Records []Record
	More    bool  // there are others behind them
	Total   int64 // how many there would be without Offset, Limit and After, if Count asks for it
}

// Pinger is a [Store] that can say whether its database answers.
type Pinger interface {
	// Ping returns an error of kind [Unavailable] if it does not.
	Ping(ctx context.Context) error
}

// Get returns a record by its type, as in Get[Device](ctx, store, id).
func Get[T any, P interface {
	*T
	Record
}](ctx context.Context, from Reader, id string) (P, error) {
	rec, err := from.Get(ctx, Of[T](), id)
	if err != nil {
		return nil, err
	}
	return rec.(P), nil
}

// Prefetcher is a [Tx] that can read many records at once. A call with many items reads each of
// them, and over a network most of its time would go into asking for one after the other.
type Prefetcher interface {
	// Prefetch reads records, of which the next Get in this transaction then knows without
	// asking: as they were here, or as the transaction has changed them since. Ids that
	// nothing has are left to Get.
	Prefetch(ctx context.Context, r *Resource, ids []string) error
}

// LatestLister is a [Store] that finds the latest of several records by itself.
type LatestLister interface {
	// ListLatest is List of those records only that are the latest: of those with the same
	// value of the field per, the one with the highest value of the field at, and of these the
	// one with the highest id. The conditions of the query are about these.
	ListLatest(ctx context.Context, q *Query, per, at *Field) (*Page, error)
}
