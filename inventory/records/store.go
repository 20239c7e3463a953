package records

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"
)

// Store stores records. Its callers have validated them ([Resource.Check]); a store does what must
// be atomic: it keeps ids and the keys of [Resource.Uniques] unique, checks that referenced
// records exist, deletes or updates referring records as [Field.Ref] says, and compares
// versions.
//
// A store is safe for concurrent use, retains no reference to a record that it is given,
// and returns records that the caller may modify. Errors other than *Error are failures.
//
// Optional capabilities are interfaces of their own, such as [Pinger].
type Store interface {
	Reader
	// Change runs f in a transaction, which is rolled back if f returns an error or panics.
	// f may run more than once, when the database requests a retry, and must use only tx. A crash of
	// the database after it returns takes nothing back: neither changes, nor, without changes, what f
	// has read.
	Change(ctx context.Context, f func(tx Tx) error) error
}

type changeTimeoutKey struct{}

// WithChangeTimeout returns a context whose changes may each take d, in place of the time that a store gives them: for
// changes of very many records.
func WithChangeTimeout(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, changeTimeoutKey{}, d)
}

// ChangeTimeout returns the time that changes of a context may take, byDefault without [WithChangeTimeout]. It is for stores.
func ChangeTimeout(ctx context.Context, byDefault time.Duration) time.Duration {
	d, _ := ctx.Value(changeTimeoutKey{}).(time.Duration)
	return cmp.Or(d, byDefault)
}

type essentialKey struct{}

// Essential returns a context whose changes a store makes even when its disk is full, in space that it keeps for them: those
// that let an administrator in and delete old records.
func Essential(ctx context.Context) context.Context {
	return context.WithValue(ctx, essentialKey{}, true)
}

// IsEssential reports whether changes of a context are [Essential]. It is for stores.
func IsEssential(ctx context.Context) bool { return ctx.Value(essentialKey{}) != nil }

// Reader is the reading half of a store.
type Reader interface {
	// Schema returns the resources that the store holds. It is another value after a change of
	// the schema.
	Schema() *Schema
	// Get returns a record, or [Absent].
	Get(ctx context.Context, r *Resource, id string) (Record, error)
	// List returns the records of a query in its order, as [Query.Select] defines them.
	List(ctx context.Context, q *Query) (*Page, error)
}

// Tx is a transaction. An *Error leaves it as it was before the call, so that the other
// items of a bulk call can be checked too; after any other error it is unusable.
type Tx interface {
	Reader
	// Create adds records, all or none. The error is [DuplicateID], [Duplicate] or
	// [Dangling] for one of them.
	Create(ctx context.Context, records ...Record) error
	// Update replaces a version of the record with the same id. The error is [Absent] if
	// there is none, [Outdated] if it has another version, or Duplicate or Dangling.
	Update(ctx context.Context, rec Record, version int64) error
	// Delete removes a version of a record. The error is Absent or Outdated. Records that
	// refer to it are deleted or updated, as [Reference] says; such an update increments
	// their version. Delete reports them to effects, unless it is nil: each record after those
	// that refer to it. effects may create records in the transaction.
	Delete(ctx context.Context, r *Resource, id string, version int64, effects func(*Effect) error) error
}

// EffectSize is the maximum number of records of one [Effect].
const EffectSize = 500

// Effect describes changes by the deletion of a record to some records of one resource that refer to it,
// or to one that it deletes.
type Effect struct {
	Resource *Resource
	Cleared  *Field // the reference that becomes null; nil if the records are deleted
	Count    int64  // the number of records
	// Before are the records before the deletion. Nil for an Unaudited resource, which may have
	// any number of them.
	Before []Record
}

// FreshReader is implemented by a [Store] that may read from a replica, which lags behind.
type FreshReader interface {
	// Fresh returns a reader that sees all completed changes.
	Fresh() Reader
}

// Fresh returns the Fresh of a [FreshReader], and any other reader unchanged. It is for reads
// that must see the latest state, such as whether an account has been deactivated.
func Fresh(from Reader) Reader {
	if store, ok := from.(FreshReader); ok {
		return store.Fresh()
	}
	return from
}

// Page is the result of a list.
type Page struct {
	Records []Record
	More    bool  // whether further records follow
	Total   int64 // the number of records without Offset, Limit and After; set if Query.Count is
	// AtLeast says that there are more than Total records. Only with Query.Estimate.
	AtLeast bool
}

// Pinger is implemented by a [Store] that can check its database.
type Pinger interface {
	// Ping returns an error of kind [Unavailable] if the database does not respond.
	Ping(ctx context.Context) error
}

// ReadBounder is implemented by a [Store] that bounds how many reads run at once.
type ReadBounder interface {
	// MaxReads returns how many reads run at once; further ones wait. 0 means no bound.
	MaxReads() int
}

// CheckStore returns an error for a store that is nil, and for one whose schema is nil or lacks the resource of one of some
// records, such as new(Device). Constructors that get a store call it.
func CheckStore(store Reader, needs ...Record) error {
	if v := reflect.ValueOf(store); store == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("the store is nil")
	}
	for _, rec := range needs {
		if _, err := store.Schema().Of(rec); err != nil {
			return err
		}
	}
	return nil
}

// Get returns the record of a type with an id, as in Get[Device](ctx, store, id), or [Absent].
func Get[T any, P interface {
	*T
	Record
}](ctx context.Context, from Reader, id string) (P, error) {
	if err := CheckStore(from); err != nil {
		return nil, err
	}
	rec, err := from.Get(ctx, Of[T](from.Schema()), id)
	if err != nil {
		return nil, err
	}
	return rec.(P), nil
}

// Prefetcher is implemented by a [Tx] that can read many records at once, which saves the
// round trips of reading them one by one.
type Prefetcher interface {
	// Prefetch reads records for the next Get of each in this transaction, which returns them
	// with the changes that the transaction has made since. Unknown ids are left to Get.
	Prefetch(ctx context.Context, r *Resource, ids []string) error
}

// FastCreator is implemented by a [Tx] that adds records faster if none of them violates a
// constraint.
type FastCreator interface {
	// CreateFast is Create, but its error for a violated constraint may be of no kind. Store.Change
	// then runs its function again, and CreateFast is Create.
	CreateFast(ctx context.Context, recs ...Record) error
}

// LatestLister is implemented by a [Store] that can select the latest records itself.
type LatestLister interface {
	// ListLatest is List over the latest records only ([Definition].Latest, which the resource
	// must have). The filters of the query apply to these.
	ListLatest(ctx context.Context, q *Query) (*Page, error)
}
