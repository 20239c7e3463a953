package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Occupant is a hook of a record that has places which no other record may have: the units of a rack, say. A hook that finds
// such a place taken returns an error of kind [Conflict] with the Holder of the place.
type Occupant interface {
	// Vacate makes the record leave its places: it changes fields.
	Vacate()
}

// vacated are the records of a transaction that have left a unique key or a place to another one.
type vacated struct {
	leavers map[string]*leaver // by id; nil if none may, since nothing is changed later
	items   int                // of all calls so far
	of      *Resource          // of the last item that is refused if a record does not leave what it has got
}

// leaver is a record that has left keys or places, until it is changed or deleted, or else gets them back.
type leaver struct {
	of      *Resource
	had     map[*Field]any // the values of the fields by which it has left them
	refused []ItemError    // what has them now
}

// full returns a record with the keys and places that it has left.
func (s *scope) full(rec Record) Record {
	if l := s.vacated.leavers[rec.Meta().ID]; l != nil {
		rec = Clone(rec)
		for f, value := range l.had {
			f.Set(rec, value)
		}
	}
	return rec
}

// place calls store, which stores rec in place of before, or is a hook if rec is nil. If another record has a unique key or
// a place that the record gets, that one leaves it, and store is called again. If it can't, the error names both.
func (s *scope) place(ctx context.Context, tx Tx, r *Resource, before, rec Record, store func() error) error {
	for attempt := 0; ; attempt++ {
		err := store()
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != Conflict || e.Holder == nil && rec == nil {
			return err
		}
		var key *Unique
		if e.Holder == nil {
			holder, of, err := keyHolder(ctx, tx, r, before, rec)
			if err != nil || holder == nil {
				return cmp.Or(err, error(e))
			}
			e, key = Duplicate(r, *of), of
			e.Holder = holder
		}
		if e, err = s.named(ctx, tx, r, before, e); err != nil {
			return err
		}
		if s.vacated.leavers == nil || attempt == MaxItems {
			return e
		}
		s.vacated.of, s.item.Err = r, e
		if left, err := s.vacate(ctx, tx, key, s.item); !left {
			return cmp.Or(err, error(e))
		}
	}
}

// keyHolder returns the first unique key that a record gets and another one has, and that one.
func keyHolder(ctx context.Context, tx Tx, r *Resource, before, rec Record) (Record, *Unique, error) {
	for _, u := range r.uniques {
		if key := r.key(u, rec); key == "" || before != nil && key == r.key(u, before) {
			continue
		}
		q := &Query{Resource: r, Limit: 2}
		for _, name := range u.Fields {
			q.Filters = append(q.Filters, Filter{r.KeyField(name), Eq, r.KeyField(name).Value(rec)})
		}
		if u.Without != "" {
			q.Where(u.Without, Condition{IsNull, true})
		}
		page, err := tx.List(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		for _, other := range page.Records {
			if other.Meta().ID != rec.Meta().ID {
				return other, &u, nil
			}
		}
	}
	return nil, nil, nil
}

// vacate makes the holder of a unique key leave it, or that of places without a key, and reports whether it has.
func (s *scope) vacate(ctx context.Context, tx Tx, key *Unique, by ItemError) (left bool, err error) {
	holder := by.Err.Holder
	r, err := tx.Schema().Of(holder)
	if err != nil {
		return false, err
	}
	rec := Clone(holder)
	update := func(as Record) error {
		rec = as
		return tx.Update(ctx, rec, holder.Meta().Version)
	}
	if key != nil {
		err = r.leave(ctx, tx, rec, key, update)
	} else if o, ok := rec.(Occupant); ok {
		o.Vacate()
		err = update(rec)
	}
	switch KindOf(err) {
	case Conflict, Invalid:
		return false, nil // the error of the item says more
	case Stale, NotFound:
		return true, nil // it has just been changed or deleted
	}
	if changed, _ := r.changes(holder, rec); err != nil || !changed {
		return false, err
	}
	l := s.vacated.leavers[rec.Meta().ID]
	if l == nil {
		l = &leaver{of: r, had: map[*Field]any{}}
		s.vacated.leavers[rec.Meta().ID] = l
	}
	for _, f := range r.fields {
		if _, ok := l.had[f]; !ok && !f.same(f.valueOrNil(holder), f.valueOrNil(rec)) {
			l.had[f] = f.Value(holder)
		}
	}
	l.refused = append(l.refused, by)
	return true, nil
}

// maxUnused bounds the values that leave tries.
const maxUnused = 100

// leave changes a field of a unique key so that no record has the key, and stores the record: it clears the field, or sets a
// text that nobody has, or else a number or a reference with which the key is unused.
func (r *Resource) leave(ctx context.Context, tx Tx, rec Record, u *Unique, store func(as Record) error) error {
	for _, name := range slices.Backward(u.Fields) {
		f := r.KeyField(name)
		if clears := (f.Nullable || !f.Required) && f.Name != cmp.Or(u.Without, "id"); clears || f.Kind == Text && f.Ref == nil && len(f.Enum) == 0 {
			if f.clear(rec); !clears {
				f.Set(rec, "~"+rec.Meta().ID)
			}
			return store(rec)
		}
	}
	err := error(Duplicate(r, *u))
	for _, name := range slices.Backward(u.Fields) {
		f := r.KeyField(name)
		values, failed := f.others(ctx, tx)
		if failed != nil {
			return failed
		}
		for _, value := range values {
			if f.same(value, f.Value(rec)) {
				continue
			}
			as := Clone(rec)
			f.Set(as, value)
			if err = r.Check(as); err == nil { // which may exchange the ends of a link
				err = store(as)
			}
			if err == nil || KindOf(err) == 0 {
				return err
			}
		}
	}
	return err
}

// others returns values that a required field may have: the highest numbers, or some records that it may refer to.
func (f *Field) others(ctx context.Context, tx Tx) (values []any, err error) {
	if f.Kind == Int {
		for n := int64(*cmp.Or(f.Max, new(float64(1<<53)))); len(values) < maxUnused && float64(n) >= *cmp.Or(f.Min, new(float64)); n-- {
			values = append(values, n)
		}
	}
	if f.Ref == nil {
		return values, nil
	}
	page, err := tx.List(ctx, &Query{Resource: f.Ref.resource, Limit: maxUnused})
	if err != nil {
		return nil, err
	}
	for _, rec := range page.Records {
		values = append(values, rec.Meta().ID)
	}
	return values, nil
}

// settle gives the records that have left keys or places, and were not changed since, these back at the end of a
// transaction. What has them now is refused. It returns the error for the failed items of a resource and these.
func (s *scope) settle(ctx context.Context, tx Tx, r *Resource, failed []ItemError) error {
	for id, l := range s.vacated.leavers {
		err := s.restore(ctx, tx, l.of, id)
		if kind := KindOf(err); kind == Conflict || kind == Invalid {
			failed = append(failed, l.refused...)
		} else if err != nil {
			return err
		}
	}
	slices.SortFunc(failed, func(a, b ItemError) int {
		return cmp.Or(a.Index-b.Index, strings.Compare(a.Err.Message, b.Err.Message))
	})
	failed = slices.CompactFunc(failed, func(a, b ItemError) bool { return a.Index == b.Index })
	return JoinItemErrors(cmp.Or(r, s.vacated.of), failed, s.vacated.items)
}

// restore gives a record back what it has left.
func (s *scope) restore(ctx context.Context, tx Tx, r *Resource, id string) error {
	stored, err := tx.Get(ctx, r, id)
	if KindOf(err) == NotFound {
		return nil
	} else if err != nil {
		return err
	}
	rec := s.full(stored)
	if t, ok := rec.(TxValidator); ok {
		err = t.ValidateIn(ctx, tx, stored)
	}
	if err == nil {
		err = tx.Update(ctx, rec, stored.Meta().Version)
	}
	if err == nil {
		delete(s.vacated.leavers, id)
	}
	return err
}

// named returns an error that names the record that is refused, and its Holder if the caller may see it: for an internal
// record, the one that it belongs to.
func (s *scope) named(ctx context.Context, tx Tx, r *Resource, before Record, e *Error) (*Error, error) {
	rec := e.Holder
	of, err := tx.Schema().Of(rec)
	if err != nil {
		return nil, err
	}
	for of.Internal {
		i := slices.IndexFunc(of.fields, func(f *Field) bool { return f.Ref != nil && f.Required })
		if i < 0 {
			return e, nil
		}
		id, _ := of.fields[i].Value(rec).(string)
		of = of.fields[i].Ref.resource
		if rec, err = tx.Get(ctx, of, id); err != nil {
			return nil, err
		}
	}
	if seen, err := s.has(ctx, of, rec); !seen || err != nil || of.Access.Read.Roles != nil || of.Access.Read.Owner {
		return e, err
	}
	has, err := s.nameOf(ctx, tx, of, rec)
	gets := "the new " + r.Noun()
	if before != nil && err == nil {
		gets, err = s.nameOf(ctx, tx, r, before)
		gets += " (" + before.Meta().ID + ")"
	}
	has += " (" + rec.Meta().ID + ")"
	all := *e
	all.Message += ": " + gets + " conflicts with " + has
	all.Fields = slices.Clone(e.Fields)
	for i := range all.Fields {
		all.Fields[i].Reason += ": it conflicts with " + has
	}
	return &all, err
}

// nameOf returns what messages call a record, by its natural key: "interface eth0 of device sw1".
func (s *scope) nameOf(ctx context.Context, tx Tx, r *Resource, rec Record) (string, error) {
	rec = s.full(rec)
	name, key, of := r.Noun(), r.keyOf(rec), " of "
	own := slices.ContainsFunc(key, func(f *Field) bool { return f.Ref == nil })
	for _, f := range key {
		if f.Ref == nil {
			name += fmt.Sprintf(" %v", f.Value(rec))
		}
	}
	for _, f := range key {
		id, ok := f.Value(rec).(string)
		if !ok || f.Ref == nil || !f.Required && own {
			continue
		}
		above, err := tx.Get(ctx, f.Ref.resource, id)
		if err != nil {
			return "", err
		}
		ref, err := s.nameOf(ctx, tx, f.Ref.resource, above)
		if err != nil {
			return "", err
		}
		name, of = name+of+ref, " and "
	}
	return name, nil
}
