package records

import (
	"context"
	"slices"
)

// Occupant is a hook of a record that takes places which no other record may have, beyond its unique keys: the units
// of a rack, say. In a call with several edits it makes room for others.
type Occupant interface {
	// Occupies returns the names of the places.
	Occupies() []string
	// Vacate leaves the places that the record does not have after its change: it clears fields of the record, or changes
	// others in the transaction.
	Vacate(ctx context.Context, tx Tx, after Record) error
}

// places returns the names of what no other record may have: unique keys, and what an [Occupant] occupies.
func (r *Resource) places(rec Record) (all []string) {
	for _, u := range r.uniques {
		if key := r.key(u, rec); key != "" {
			all = append(all, key)
		}
	}
	if o, ok := rec.(Occupant); ok {
		all = append(all, o.Occupies()...)
	}
	return all
}

// edited is what an edit makes of its record.
type edited struct {
	before, after Record
	err           error
}

// vacate makes the order of edits indifferent: a record leaves the places that another one of the call gets, before any of them is
// changed. So two records can swap unique keys, and devices can move up in a rack. Edits are applied here, once, and
// made later; their errors are left to that.
func (v *Engine) vacate(ctx context.Context, tx Tx, s *scope, r *Resource, edits []Edit) error {
	if len(edits) < 2 {
		return nil
	}
	all, wanted := map[string]edited{}, map[string]bool{}
	var moves []edited
	for _, e := range edits {
		id, err := canonicalID(e.ID)
		if _, again := all[id]; again || err != nil {
			continue
		}
		var one edited
		one.before, one.after, one.err = v.apply(ctx, tx, s, r, e)
		if one.err != nil && KindOf(one.err) == 0 {
			return one.err
		}
		all[id] = one
		if one.err != nil {
			continue
		}
		one.after = Clone(one.after)
		if v.prepare(r, one.after, r.Check) != nil {
			continue
		}
		had := r.places(one.before)
		for _, place := range r.places(one.after) {
			if !slices.Contains(had, place) {
				wanted[place] = true
			}
		}
		moves = append(moves, one)
	}
	s.edits = all
	if len(wanted) == 0 {
		return nil
	}
	for _, m := range moves {
		gets := r.places(m.after)
		in := func(place string) bool { return wanted[place] && !slices.Contains(gets, place) }
		if !slices.ContainsFunc(r.places(m.before), in) {
			continue
		}
		rec := Clone(m.before)
		for _, u := range r.uniques {
			if in(r.key(u, rec)) {
				r.leave(rec, u)
			}
		}
		if o, ok := rec.(Occupant); ok {
			if err := o.Vacate(ctx, tx, m.after); err != nil {
				return err
			}
		}
		if err := tx.Update(ctx, rec, m.before.Meta().Version); err != nil {
			return err
		}
	}
	return nil
}

// leave changes a field of a unique key so that no record has the key.
func (r *Resource) leave(rec Record, u Unique) {
	for _, name := range slices.Backward(u.Fields) {
		switch f := r.KeyField(name); {
		case !f.Required && (u.Without == "" || f.Name != u.Without):
			f.clear(rec)
			return
		case f.Kind == Text && f.Ref == nil && len(f.Enum) == 0:
			f.Set(rec, "~"+rec.Meta().ID)
			return
		}
	}
}
