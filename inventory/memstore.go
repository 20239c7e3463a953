package inventory

import (
	"context"
	"maps"
	"slices"
)

// MemStore is a [Store] in memory, for tests and for trying things out: lists go through
// all records. Make it with [NewMemStore].
type MemStore struct {
	lock   memLock
	tables map[*Resource]map[string]Record
	keys   map[string]string // from unique keys to the ids that have them
}

// NewMemStore makes an empty store.
func NewMemStore() *MemStore {
	s := &MemStore{lock: newMemLock(), tables: map[*Resource]map[string]Record{}, keys: map[string]string{}}
	for _, r := range StoredResources() {
		s.tables[r] = map[string]Record{}
	}
	return s
}

// Get returns a record.
func (s *MemStore) Get(ctx context.Context, r *Resource, id string) (Record, error) {
	leave, err := s.lock.read(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.get(r, id)
}

func (s *MemStore) get(r *Resource, id string) (Record, error) {
	rec, ok := s.tables[r][id]
	if !ok {
		return nil, Absent(r)
	}
	return Clone(rec), nil
}

// List returns the records of a query.
func (s *MemStore) List(ctx context.Context, q *Query) (*Page, error) {
	leave, err := s.lock.read(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.list(q), nil
}

func (s *MemStore) list(q *Query) *Page {
	page := q.Select(slices.Collect(maps.Values(s.tables[q.Resource])))
	for i, rec := range page.Records {
		page.Records[i] = Clone(rec)
	}
	return page
}

// Change runs f in a transaction. There is one at a time.
func (s *MemStore) Change(ctx context.Context, f func(tx Tx) error) error {
	leave, err := s.lock.write(ctx)
	if err != nil {
		return err
	}
	defer leave()
	tx := &memTx{store: s}
	done := false
	defer func() {
		if !done { // an error, or a panic
			tx.undoTo(0)
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	err = ctx.Err()
	done = err == nil
	return err
}
