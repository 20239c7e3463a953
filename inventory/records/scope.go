package records

import (
	"context"
	"maps"
	"strings"
)

// LimitTo returns an engine over the same store whose changes are limited to the records of some
// places: others are absent for it, and can't become the result of a change or be referred to. places
// is called in the transaction of a change, after the functions of [Engine.BeforeChange]; nil is no
// limit. What goes along with a deletion is not limited.
func (v *Engine) LimitTo(places func() *Places) *Engine {
	more := *v
	more.places = places
	return &more
}

// scope holds the places of a transaction: those that its records belong to, for the audit log,
// and those that its caller is limited to.
type scope struct {
	from Reader
	// bulk says that many records may be read at once, which discards others that were.
	bulk  bool
	known map[string][]string // the places of records, by id; without any they belong to none
	only  *Places             // nil is no limit

	vacated *vacated
	item    ItemError // the current one
}

// scope returns the scope of a transaction, after its first steps.
func (v *Engine) scope(tx Tx, bulk bool) *scope {
	s := &scope{from: tx, bulk: bulk, known: map[string][]string{}, vacated: &vacated{}}
	if v.within != nil {
		s.vacated = &v.within.vacated
	}
	if v.places != nil {
		s.only = v.places()
	}
	return s
}

// checkNew refuses new records that would not belong to the places of the caller.
func (s *scope) checkNew(ctx context.Context, r *Resource, recs []Record) error {
	if s.only == nil {
		return nil
	}
	if !r.Placed() || r.IsPlace() {
		return PermissionDenied()
	}
	if err := s.load(ctx, r, recs...); err != nil {
		return err
	}
	return r.each(recs, func(_ int, rec Record) error { return s.checkResult(ctx, r, nil, rec) })
}

// checkFound refuses the change of a record that does not belong to the places of the caller, as if
// it were absent.
func (s *scope) checkFound(ctx context.Context, r *Resource, before Record) error {
	if s.only == nil {
		return nil
	}
	if !r.Placed() && !s.only.owns(r, before.Meta().ID) {
		return PermissionDenied()
	}
	if ok, err := s.has(ctx, r, before); ok || err != nil {
		return err
	}
	return Absent(r)
}

// checkResult refuses what a change makes of a record, nil for a new one: a reference to a record
// that does not belong to the places of the caller, as if that were absent, and a record that does
// not belong to them itself.
func (s *scope) checkResult(ctx context.Context, r *Resource, before, after Record) error {
	if s.only == nil {
		return nil
	}
	for _, f := range r.fields {
		id, ok := f.Value(after).(string)
		if f.Ref == nil || f.ReadOnly || !ok || before != nil && f.same(f.valueOrNil(before), id) {
			continue
		}
		if ok, err := s.refers(ctx, f.Ref.resource, id); err != nil {
			return err
		} else if !ok {
			return Dangling(r, f)
		}
	}
	if ok, err := s.has(ctx, r, after); ok || err != nil {
		return err
	}
	return r.refuse(r.Within[len(r.Within)-1], Missing("your account is limited to some locations"))
}

// refers reports whether a caller may refer to a record. An absent one belongs to no place.
func (s *scope) refers(ctx context.Context, to *Resource, id string) (bool, error) {
	switch {
	case !to.Placed():
		return s.only.owns(to, id), nil
	case to.IsPlace():
		return s.only.Cover([]string{id}), nil
	case s.known[id] == nil:
		if err := s.read(ctx, to, []string{id}); err != nil {
			return false, err
		}
	}
	return s.only.Cover(s.known[id]), nil
}

// shown returns the part of an effect that the caller sees. Records without an audit log go along
// with one that they see.
func (s *scope) shown(ctx context.Context, effect *Effect) (*Effect, error) {
	if s.only == nil || len(effect.Before) == 0 {
		return effect, nil
	}
	of := *effect
	of.Before = nil
	for _, before := range effect.Before {
		ok, err := s.has(ctx, effect.Resource, before)
		if err != nil {
			return nil, err
		}
		if ok {
			of.Before = append(of.Before, before)
		}
	}
	of.Count = int64(len(of.Before))
	return &of, nil
}

// placesOf returns AuditLog.Places for a record before and after a change, of which one may be nil.
func (s *scope) placesOf(ctx context.Context, r *Resource, before, after Record) (string, error) {
	if !r.Placed() {
		return "", nil
	}
	var parts [2]string
	for i, rec := range []Record{before, after} {
		if rec == nil {
			continue
		}
		if err := s.load(ctx, r, rec); err != nil {
			return "", err
		}
		parts[i] = strings.Join(s.of(r, rec), " ")
	}
	switch text := parts[0] + ">" + parts[1]; {
	case parts[0] == parts[1]:
		return parts[0], nil
	case len(text) > maxPlaces:
		return "", nil // nobody who is limited sees it
	default:
		return text, nil
	}
}

// maxPlaces is the most characters of AuditLog.Places.
const maxPlaces = 1000

// Seen returns what a caller who is limited to places sees of an entry of the audit log, nil if
// nothing: the changes of records that belonged to the places before or after them. A record that
// leaves the places appears as deleted, and one that enters them as created, with the changed fields
// only. For nil it returns the entry.
func (p *Places) Seen(a *AuditLog) *AuditLog {
	if p == nil {
		return a
	}
	before, after, moved := strings.Cut(a.Places, ">")
	if !moved {
		after = before
	}
	was, is := p.Cover(strings.Fields(before)), p.Cover(strings.Fields(after))
	switch {
	case was && is:
		return a
	case !was && !is:
		return nil
	}
	seen := Clone(a)
	if was {
		seen.Action = "delete"
	} else {
		seen.Action, seen.Cause = "create", ""
	}
	for name, change := range seen.Changes {
		if was {
			change.After = nil
		} else {
			change.Before = nil
		}
		seen.Changes[name] = change
	}
	maps.DeleteFunc(seen.Changes, func(_ string, c Change) bool { return c.Before == nil && c.After == nil })
	return seen
}
