package records

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// maxReaders is the maximum number of concurrent readers of a [MemStore].
const maxReaders = 16

// MemStore is a [Store] in memory for tests and demonstrations: lists scan all records.
// Create it with [NewMemStore].
type MemStore struct {
	schema atomic.Pointer[Schema]
	lock   *semaphore.Weighted          // 1 to read, maxReaders to write; unlike a sync.RWMutex it respects contexts
	tables map[string]map[string]Record // by the name of the resource
	keys   map[string]string            // unique key to id
	chain  []memLink                    // of the audit log, after pruned
	pruned AuditPosition                // the last position that was deleted
	anchor *AuditAnchor                 // of the last pruning; nil for none
	failed error                        // of every call, for a store that was made without a schema; or nil
}

// memLink is an entry of the audit log in the chain.
type memLink struct {
	id   string
	hash []byte
}

// NewMemStore returns an empty store of a schema. With a nil schema every call of the store is an error.
func NewMemStore(schema *Schema) *MemStore {
	var failed error
	if schema == nil {
		failed, schema = errors.New("records.NewMemStore: the schema is nil"), &Schema{}
	}
	s := &MemStore{failed: failed, lock: semaphore.NewWeighted(maxReaders), tables: map[string]map[string]Record{}, keys: map[string]string{}}
	s.schema.Store(schema)
	for _, r := range schema.StoredResources() {
		s.tables[r.Name] = map[string]Record{}
	}
	return s
}

// Schema returns the schema of the store.
func (s *MemStore) Schema() *Schema { return s.schema.Load() }

// reading calls read while no transaction runs.
func reading[T any](ctx context.Context, s *MemStore, read func() (T, error)) (result T, err error) {
	if s.failed != nil {
		return result, s.failed
	}
	if err := s.lock.Acquire(ctx, 1); err != nil {
		return result, err
	}
	defer s.lock.Release(1)
	return read()
}

// Get returns a record, or [Absent].
func (s *MemStore) Get(ctx context.Context, r *Resource, id string) (Record, error) {
	return reading(ctx, s, func() (Record, error) { return s.get(r, id) })
}

func (s *MemStore) get(r *Resource, id string) (Record, error) {
	rec, ok := s.tables[r.Name][id]
	if !ok {
		return nil, Absent(r)
	}
	return Clone(rec), nil
}

// List returns the records of a query.
func (s *MemStore) List(ctx context.Context, q *Query) (*Page, error) {
	return reading(ctx, s, func() (*Page, error) { return s.list(ctx, q) })
}

func (s *MemStore) list(ctx context.Context, q *Query) (*Page, error) {
	return s.selected(ctx, q, slices.Collect(maps.Values(s.tables[q.Resource.Name])))
}

// selected applies a query to records. The caller holds the lock.
func (s *MemStore) selected(ctx context.Context, q *Query, recs []Record) (*Page, error) {
	recs, err := q.Only.Within(ctx, &memTx{store: s}, s.schema.Load().byName[q.Resource.Name], recs)
	if err != nil {
		return nil, err
	}
	page := q.Select(recs)
	for i, rec := range page.Records {
		page.Records[i] = Clone(rec)
	}
	return page, nil
}

// ListLatest returns the latest records of a query ([LatestLister]).
func (s *MemStore) ListLatest(ctx context.Context, q *Query) (*Page, error) {
	return reading(ctx, s, func() (*Page, error) {
		r := s.schema.Load().byName[q.Resource.Name]
		return s.selected(ctx, q, r.SelectLatest(slices.Collect(maps.Values(s.tables[r.Name]))))
	})
}

// Change runs f in a transaction. There is one at a time.
func (s *MemStore) Change(ctx context.Context, f func(tx Tx) error) error {
	if s.failed != nil {
		return s.failed
	}
	if err := s.lock.Acquire(ctx, maxReaders); err != nil {
		return err
	}
	defer s.lock.Release(maxReaders)
	tx := &memTx{store: s}
	committed := false
	defer func() {
		if !committed { // an error, or a panic
			tx.rollback(0)
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.declare(); err != nil {
		return err
	}
	committed = true
	at := s.head()
	for _, a := range tx.created {
		current, _ := digest(a)
		at = at.Next(current)
		s.chain = append(s.chain, memLink{a.ID, at.Hash})
	}
	return nil
}

// declare changes the schema if the transaction has changed records that declare parts of it.
func (tx *memTx) declare() error {
	if !tx.declares {
		return nil
	}
	s, schema := tx.store, tx.Schema()
	var recs []Record
	for _, r := range schema.declaring {
		recs = slices.AppendSeq(recs, maps.Values(s.tables[r.Name]))
	}
	next, err := schema.Declared(recs)
	if err != nil {
		return err
	}
	removed := schema.Removed(next)
	for i, changed := range slices.Concat(removed, next.Removed(schema)) {
		var value any // none of a removed field
		if i >= len(removed) {
			value = changed.Field.defaultValue
		}
		for id, rec := range s.tables[changed.From.Name] {
			rec = Clone(rec)
			changed.Field.Set(rec, value)
			s.tables[changed.From.Name][id] = rec
		}
	}
	s.schema.Store(next)
	return nil
}

// current returns a resource as the schema has it now.
func (tx *memTx) current(r *Resource) *Resource {
	if now, ok := tx.Schema().Named(r.Name); ok {
		return now
	}
	return r
}

// digest returns the digests of an entry, of which the store has no text.
func digest(a *AuditLog) (digest, former [sha256.Size]byte) {
	changes, _ := json.Marshal(a.Changes) // the values of fields are encodable
	return AuditDigest(a, string(changes))
}

func (s *MemStore) head() AuditPosition {
	if len(s.chain) == 0 {
		return s.pruned
	}
	return AuditPosition{s.pruned.Seq + int64(len(s.chain)), s.chain[len(s.chain)-1].hash}
}

// AuditHead returns the last position of the audit log ([AuditChain]).
func (s *MemStore) AuditHead(ctx context.Context) (AuditPosition, error) {
	return reading(ctx, s, func() (AuditPosition, error) { return s.head(), nil })
}

// AuditAfter returns entries of the audit log after a position ([AuditChain]).
func (s *MemStore) AuditAfter(ctx context.Context, seq int64, limit int) ([]ChainedEntry, error) {
	if err := s.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.lock.Release(1)
	var page []ChainedEntry
	for i := max(seq-s.pruned.Seq, 0); i < int64(len(s.chain)) && len(page) < limit; i++ {
		e := ChainedEntry{AuditPosition: AuditPosition{s.pruned.Seq + i + 1, s.chain[i].hash}}
		if rec, ok := s.tables[auditLogs][s.chain[i].id].(*AuditLog); ok {
			e.Entry = Clone(rec)
			e.Digest, e.Former = digest(rec)
		}
		page = append(page, e)
	}
	return page, nil
}

// AuditAnchors returns the anchor of the last pruning ([AuditChain]).
func (s *MemStore) AuditAnchors(ctx context.Context) ([]AuditAnchor, error) {
	return reading(ctx, s, func() (anchors []AuditAnchor, err error) {
		if s.anchor != nil {
			anchors = append(anchors, *s.anchor)
		}
		return anchors, nil
	})
}

// AuditUnchained returns no entry: each gets a position ([AuditChain]).
func (s *MemStore) AuditUnchained(ctx context.Context) (string, error) { return "", ctx.Err() }

// memTx is a transaction of a [MemStore], which holds its lock. Changes apply at once and
// are undone by a rollback.
type memTx struct {
	store    *MemStore
	undo     []func()
	created  []*AuditLog // entries for the chain
	declares bool        // it has changed records that declare parts of the schema
}

// rollback undoes all but the first n steps.
func (tx *memTx) rollback(n int) {
	for _, step := range slices.Backward(tx.undo[n:]) {
		step()
	}
	tx.undo = tx.undo[:n]
}

func (tx *memTx) Schema() *Schema { return tx.store.Schema() }

func (tx *memTx) Get(ctx context.Context, r *Resource, id string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return tx.store.get(r, id)
}

func (tx *memTx) List(ctx context.Context, q *Query) (*Page, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return tx.store.list(ctx, q)
}

// atomic runs a call of several steps and undoes them if it fails.
func (tx *memTx) atomic(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begin := len(tx.undo)
	err := call()
	if err != nil {
		tx.rollback(begin)
	}
	return err
}

func (tx *memTx) Create(ctx context.Context, records ...Record) error {
	return tx.atomic(ctx, func() error {
		for _, rec := range records {
			r, err := tx.Schema().Of(rec)
			if err != nil {
				return err
			}
			if _, taken := tx.store.tables[r.Name][rec.Meta().ID]; taken {
				return DuplicateID(r)
			}
			if err := tx.put(r, rec); err != nil {
				return err
			}
			tx.chain(rec)
		}
		return nil
	})
}

func (tx *memTx) Update(ctx context.Context, rec Record, version int64) error {
	return tx.atomic(ctx, func() error {
		r, err := tx.Schema().Of(rec)
		if err != nil {
			return err
		}
		old, err := tx.find(r, rec.Meta().ID, version)
		if err != nil {
			return err
		}
		tx.remove(r, old)
		return tx.put(r, rec)
	})
}

func (tx *memTx) Delete(ctx context.Context, r *Resource, id string, version int64, effects func(*Effect) error) error {
	if effects == nil {
		effects = func(*Effect) error { return nil }
	}
	return tx.atomic(ctx, func() error {
		old, err := tx.find(r, id, version)
		if err != nil {
			return err
		}
		return tx.cascade(tx.current(r), old, effects)
	})
}

// find returns the record with an id, which must have this version.
func (tx *memTx) find(r *Resource, id string, version int64) (Record, error) {
	rec, ok := tx.store.tables[r.Name][id]
	switch {
	case !ok:
		return nil, Absent(r)
	case rec.Meta().Version != version:
		return nil, Outdated(r)
	}
	return rec, nil
}

// put adds a copy of a record whose id is not in use.
func (tx *memTx) put(r *Resource, rec Record) error {
	for _, f := range r.fields {
		if f.Ref == nil {
			continue
		}
		if id, ok := f.Value(rec).(string); ok && tx.store.tables[f.Ref.To][id] == nil {
			return Dangling(r, f)
		}
	}
	id := rec.Meta().ID
	for _, unique := range r.uniques {
		if key := r.key(unique, rec); key != "" {
			if _, taken := tx.store.keys[key]; taken {
				return Duplicate(r, unique)
			}
			tx.store.keys[key] = id
			tx.undo = append(tx.undo, func() { delete(tx.store.keys, key) })
		}
	}
	stored := Clone(rec)
	for _, f := range r.fields {
		if f.Column == "" {
			f.clear(stored)
		}
	}
	maps.DeleteFunc(stored.Meta().Extra, func(name string, _ any) bool { return r.byName[name] == nil }) // of a field that was removed
	_, declares := rec.(Declarer)
	tx.declares = tx.declares || declares
	tx.store.tables[r.Name][id] = stored
	tx.undo = append(tx.undo, func() { delete(tx.store.tables[r.Name], id) })
	return nil
}

// chain notes new entries of the audit log.
func (tx *memTx) chain(rec Record) {
	if a, ok := rec.(*AuditLog); ok {
		n := len(tx.created)
		tx.created = append(tx.created, Clone(a))
		tx.undo = append(tx.undo, func() { tx.created = tx.created[:n] })
	}
}

// AnchorAudit replaces the anchor of the audit log ([AuditPruner]).
func (tx *memTx) AnchorAudit(ctx context.Context, anchor *AuditAnchor) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	old := tx.store.anchor
	anchor.Pruned = anchor.Seq
	if old != nil {
		anchor.Pruned -= old.Seq
	}
	if anchor.Pruned <= 0 {
		return false, nil
	}
	copied := *anchor
	tx.store.anchor = &copied
	tx.undo = append(tx.undo, func() { tx.store.anchor = old })
	return true, nil
}

// PruneAudit deletes entries of the audit log up to the anchor ([AuditPruner]).
func (tx *memTx) PruneAudit(ctx context.Context, _ int64, limit int) (deleted, last int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	s := tx.store
	chain, pruned := s.chain, s.pruned
	tx.undo = append(tx.undo, func() { s.chain, s.pruned = chain, pruned })
	for ; deleted < int64(limit) && s.anchor != nil && s.pruned.Seq < s.anchor.Seq; deleted++ {
		if rec, ok := s.tables[auditLogs][s.chain[0].id]; ok {
			tx.remove(s.schema.Load().byName[auditLogs], rec)
		}
		s.pruned = AuditPosition{s.pruned.Seq + 1, s.chain[0].hash}
		s.chain = s.chain[1:]
	}
	return deleted, s.pruned.Seq, nil
}

// remove removes a record, and nothing else.
func (tx *memTx) remove(r *Resource, rec Record) {
	id := rec.Meta().ID
	_, declares := rec.(Declarer)
	tx.declares = tx.declares || declares
	delete(tx.store.tables[r.Name], id)
	tx.undo = append(tx.undo, func() { tx.store.tables[r.Name][id] = rec })
	for _, unique := range r.uniques {
		if key := r.key(unique, rec); key != "" {
			delete(tx.store.keys, key)
			tx.undo = append(tx.undo, func() { tx.store.keys[key] = id })
		}
	}
}

// key returns a unique key of a record as a string, empty if one of its fields has no value.
func (r *Resource) key(u Unique, rec Record) string {
	if u.Without != "" && r.byName[u.Without].Value(rec) != nil {
		return ""
	}
	key := r.Name + "\x00" + strings.Join(u.Fields, ",") + "\x00" + u.Without
	for _, name := range u.Fields {
		value := r.KeyField(name).Value(rec)
		if value == nil {
			return ""
		}
		key += fmt.Sprintf("\x00%v", value)
	}
	return key
}

// cascade removes a record, and deletes or updates the records that refer to it.
func (tx *memTx) cascade(r *Resource, rec Record, effects func(*Effect) error) error {
	for _, ref := range r.referrers {
		if err := tx.unlink(ref.From, ref.Field, rec.Meta().ID, effects); err != nil {
			return err
		}
	}
	tx.remove(r, rec)
	return nil
}

// unlink deletes the records that refer to an id by a field, or sets the field to null.
func (tx *memTx) unlink(from *Resource, f *Field, id string, effects func(*Effect) error) error {
	var found []string
	for other, rec := range tx.store.tables[from.Name] {
		if f.Value(rec) == id {
			found = append(found, other)
		}
	}
	slices.Sort(found)
	for chunk := range slices.Chunk(found, EffectSize) {
		effect := &Effect{Resource: from}
		if !f.Ref.Cascade {
			effect.Cleared = f
		}
		for _, other := range chunk {
			rec := tx.store.tables[from.Name][other]
			if rec == nil {
				continue // deleted with one before
			}
			effect.Count++
			if !from.Unaudited {
				effect.Before = append(effect.Before, Clone(rec))
			}
			if f.Ref.Cascade {
				if err := tx.cascade(from, rec, effects); err != nil {
					return err
				}
				continue
			}
			tx.remove(from, rec)
			rec = Clone(rec)
			f.clear(rec)
			rec.Meta().Version++
			if err := tx.put(from, rec); err != nil {
				return err
			}
		}
		if effect.Count > 0 {
			if err := effects(effect); err != nil {
				return err
			}
		}
	}
	return nil
}
