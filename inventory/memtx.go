package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// memTx is a transaction of a [MemStore], whose lock is held. Changes are made at once, and
// undone if they turn out not to be wanted.
type memTx struct {
	store *MemStore
	undo  []func()
}

// undoTo takes back all but the first n steps.
func (tx *memTx) undoTo(n int) {
	for _, step := range slices.Backward(tx.undo[n:]) {
		step()
	}
	tx.undo = tx.undo[:n]
}

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
	return tx.store.list(q), nil
}

// whole runs a call of several steps, none of which remains if it fails.
func (tx *memTx) whole(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begin := len(tx.undo)
	err := call()
	if err != nil {
		tx.undoTo(begin)
	}
	return err
}

func (tx *memTx) Create(ctx context.Context, records ...Record) error {
	return tx.whole(ctx, func() error {
		for _, rec := range records {
			r, err := described(rec)
			if err != nil {
				return err
			}
			if _, taken := tx.store.tables[r][rec.Meta().ID]; taken {
				return DuplicateID(r)
			}
			if err := tx.put(r, rec); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *memTx) Update(ctx context.Context, rec Record, version int64) error {
	return tx.whole(ctx, func() error {
		r, err := described(rec)
		if err != nil {
			return err
		}
		old, err := tx.version(r, rec.Meta().ID, version)
		if err != nil {
			return err
		}
		tx.drop(r, old)
		return tx.put(r, rec)
	})
}

func (tx *memTx) Delete(ctx context.Context, r *Resource, id string, version int64) error {
	return tx.whole(ctx, func() error {
		old, err := tx.version(r, id, version)
		if err != nil {
			return err
		}
		return tx.remove(r, old)
	})
}

// version is the record with an id, which must have this version.
func (tx *memTx) version(r *Resource, id string, version int64) (Record, error) {
	rec, ok := tx.store.tables[r][id]
	switch {
	case !ok:
		return nil, Absent(r)
	case rec.Meta().Version != version:
		return nil, Outdated(r)
	}
	return rec, nil
}

// put adds a copy of a record that is not there.
func (tx *memTx) put(r *Resource, rec Record) error {
	if err := tx.refers(r, rec); err != nil {
		return err
	}
	id := rec.Meta().ID
	for _, key := range r.uniques {
		if k := r.key(key, rec); k != "" {
			if _, taken := tx.store.keys[k]; taken {
				return Duplicate(r, key)
			}
			tx.store.keys[k] = id
			tx.undo = append(tx.undo, func() { delete(tx.store.keys, k) })
		}
	}
	kept := Clone(rec)
	for _, f := range r.fields {
		if f.Column == "" {
			f.clear(kept)
		}
	}
	tx.store.tables[r][id] = kept
	tx.undo = append(tx.undo, func() { delete(tx.store.tables[r], id) })
	return nil
}

// drop takes a record out, and nothing else.
func (tx *memTx) drop(r *Resource, rec Record) {
	id := rec.Meta().ID
	delete(tx.store.tables[r], id)
	tx.undo = append(tx.undo, func() { tx.store.tables[r][id] = rec })
	for _, key := range r.uniques {
		if k := r.key(key, rec); k != "" {
			delete(tx.store.keys, k)
			tx.undo = append(tx.undo, func() { tx.store.keys[k] = id })
		}
	}
}

// key is a unique key of a record as a text, which is empty if a part has no value.
func (r *Resource) key(u Unique, rec Record) string {
	text := r.name + "\x00" + strings.Join(u.Fields, ",")
	for _, name := range u.Fields {
		value := r.byName[name].Value(rec)
		if value == nil {
			return ""
		}
		text += fmt.Sprintf("\x00%v", value)
	}
	return text
}

// refers says whether all that a record refers to is there.
func (tx *memTx) refers(r *Resource, rec Record) error {
	for _, f := range r.fields {
		if f.Ref == nil {
			continue
		}
		to, _ := Named(f.Ref.To)
		if id, ok := f.Value(rec).(string); ok && tx.store.tables[to][id] == nil {
			return Dangling(r, f)
		}
	}
	return nil
}

// remove takes a record out and sees to what refers to it.
func (tx *memTx) remove(r *Resource, rec Record) error {
	for _, from := range all {
		for _, f := range from.fields {
			if f.Ref == nil || f.Ref.To != r.name {
				continue
			}
			if err := tx.release(from, f, rec.Meta().ID); err != nil {
				return err
			}
		}
	}
	tx.drop(r, rec)
	return nil
}

// release removes the records of a resource whose field has an id, or makes it null.
func (tx *memTx) release(from *Resource, f *Field, id string) error {
	for _, rec := range tx.store.tables[from] {
		if f.Value(rec) != id {
			continue
		}
		if f.Ref.Cascade {
			if err := tx.remove(from, rec); err != nil {
				return err
			}
			continue
		}
		tx.drop(from, rec)
		rec = Clone(rec)
		f.clear(rec)
		rec.Meta().Version++
		if err := tx.put(from, rec); err != nil {
			return err
		}
	}
	return nil
}
