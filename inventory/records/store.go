package records

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"reflect"
	"sync/atomic"
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

// First returns a record of a type whose fields have some values, nil if there is none, as in
// First[Device](ctx, store, "hostname", "sw1"). Each value follows the name of its field ([Query.Where]).
func First[T any, P interface {
	*T
	Record
}](ctx context.Context, from Reader, where ...any) (P, error) {
	all, err := Select[T, P](ctx, from, &Query{Limit: 1}, where...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// Select returns the page of a query, whose resource it sets, with conditions as those of [First].
func Select[T any, P interface {
	*T
	Record
}](ctx context.Context, from Reader, q *Query, where ...any) ([]P, error) {
	if err := CheckStore(from); err != nil {
		return nil, err
	}
	q.Resource = Of[T](from.Schema())
	page, err := from.List(ctx, q.where(where))
	if err != nil {
		return nil, err
	}
	all := make([]P, len(page.Records))
	for i, rec := range page.Records {
		all[i] = rec.(P)
	}
	return all, nil
}

// Count returns the number of records of a query, with conditions as those of [First].
func Count(ctx context.Context, from Reader, q *Query, where ...any) (int64, error) {
	q.Limit, q.Count = 1, true
	page, err := from.List(ctx, q.where(where))
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// where adds conditions.
func (q *Query) where(pairs []any) *Query {
	for i := 0; i < len(pairs); i += 2 {
		q.Where(pairs[i].(string), pairs[i+1])
	}
	return q
}

// All iterates over the records of all pages of a query. The last element may be an error.
func All(ctx context.Context, from interface {
	List(ctx context.Context, q *Query) (*Page, error)
}, q *Query,
) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		next := *q
		for {
			page, err := from.List(ctx, &next)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rec := range page.Records {
				if !yield(rec, nil) {
					return
				}
			}
			if !page.More || len(page.Records) == 0 {
				return
			}
			next.After = next.PlaceOf(page.Records[len(page.Records)-1])
		}
	}
}

// Locker is implemented by a [Tx] of a store that runs several changes at once.
type Locker interface {
	// Lock is Get for a record of a Lockable resource that no other transaction changes or deletes
	// until this one ends: it waits for those that do, or wait to. Others may lock it too.
	Lock(ctx context.Context, r *Resource, id string) (Record, error)
	// Serialize waits until no other transaction runs that has called it with this name. Call it
	// before any other method.
	Serialize(ctx context.Context, name string) error
}

// Lock calls the method of a [Locker]. Other stores run one change at a time, so Get suffices.
func Lock(ctx context.Context, tx Tx, r *Resource, id string) (Record, error) {
	if l, ok := tx.(Locker); ok {
		return l.Lock(ctx, r, id)
	}
	return tx.Get(ctx, r, id)
}

// Serialize calls the method of a [Locker]. Other stores run one change at a time.
func Serialize(ctx context.Context, tx Tx, name string) error {
	if l, ok := tx.(Locker); ok {
		return l.Serialize(ctx, name)
	}
	return nil
}

// Seen is the newest change that a caller knows of, as a position in the log of the database: 0 for none. A [Store]
// that reads from a replica reads from the database itself while the replica is behind it, and notes the changes that
// the caller makes. It is safe for concurrent use.
type Seen struct{ position atomic.Int64 }

// Position returns the position.
func (s *Seen) Position() int64 { return s.position.Load() }

// Advance notes a position, unless a later one is known.
func (s *Seen) Advance(to int64) {
	for at := s.position.Load(); at < to && !s.position.CompareAndSwap(at, to); at = s.position.Load() {
	}
}

type seenKey struct{}

// WithSeen returns the context of a caller who has seen a position, from 0, and what is noted there.
func WithSeen(ctx context.Context, position int64) (context.Context, *Seen) {
	s := &Seen{}
	s.Advance(position)
	return context.WithValue(ctx, seenKey{}, s), s
}

// SeenBy returns what the caller of a context has seen, nil if nobody notes it.
func SeenBy(ctx context.Context) *Seen {
	s, _ := ctx.Value(seenKey{}).(*Seen)
	return s
}
