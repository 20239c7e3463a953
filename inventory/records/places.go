package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Places limit a caller to the records that belong to some places, such as locations
// ([Definition].Within). They do not change. A nil pointer is no limit.
type Places struct {
	IDs []string // of the places, in lower case; without any, no record belongs to them
	// Own is the id of the caller's own record of a resource without places, which they see and
	// change too. Empty is none.
	Own string
}

// NewPlaces returns the limit to places and to the caller's own record, and nil for nil ids.
func NewPlaces(ids []string, own string) *Places {
	if ids == nil {
		return nil
	}
	p := &Places{IDs: make([]string, len(ids)), Own: strings.ToLower(own)}
	for i, id := range ids {
		p.IDs[i] = strings.ToLower(id)
	}
	slices.Sort(p.IDs)
	p.IDs = slices.Compact(p.IDs)
	return p
}

// Cover reports whether a record belongs to the places if these are all that it belongs to.
func (p *Places) Cover(ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(p.IDs, id) })
}

// owns reports whether a record is the caller's own one.
func (p *Places) owns(r *Resource, id string) bool { return !r.Placed() && id != "" && id == p.Own }

// Placed reports whether records of the resource belong to places.
func (r *Resource) Placed() bool { return len(r.Within) > 0 }

// IsPlace reports whether the records of the resource are places themselves.
func (r *Resource) IsPlace() bool { return len(r.Within) == 1 && r.Within[0] == "id" }

// checkWithin checks Definition.Within.
func (r *Resource) checkWithin(s *Schema) error {
	if r.IsPlace() {
		return nil
	}
	for _, name := range r.Within {
		f := r.byName[name]
		if f == nil || f.Ref == nil || f.Ref.To == r.Name || !s.byName[f.Ref.To].Placed() {
			return fmt.Errorf("%s is within %q: use id alone, or references to other resources that are within something", r.Name, name)
		}
	}
	return nil
}

// load reads what records refer to.
func (s *scope) load(ctx context.Context, r *Resource, recs ...Record) error {
	for _, name := range r.Within {
		f := r.byName[name]
		if f.Ref == nil || f.Ref.resource.IsPlace() {
			continue
		}
		var wanted []string
		seen := map[string]bool{}
		for _, rec := range recs {
			if id, ok := f.Value(rec).(string); ok && s.known[id] == nil && !seen[id] {
				wanted, seen[id] = append(wanted, id), true
			}
		}
		if err := s.read(ctx, f.Ref.resource, wanted); err != nil {
			return err
		}
	}
	return nil
}

// read remembers the places of records.
func (s *scope) read(ctx context.Context, r *Resource, ids []string) error {
	if of, ok := s.from.(Prefetcher); ok && s.bulk && len(ids) > 1 {
		if err := of.Prefetch(ctx, r, ids); err != nil {
			return err
		}
	}
	var found []Record
	for _, id := range ids {
		rec, err := s.from.Get(ctx, r, id)
		switch {
		case err == nil:
			found = append(found, rec)
		case KindOf(err) != NotFound:
			return err
		}
	}
	if err := s.load(ctx, r, found...); err != nil {
		return err
	}
	for _, rec := range found {
		s.known[rec.Meta().ID] = s.of(r, rec)
	}
	return nil
}

// of returns the places that a record belongs to, after load.
func (s *scope) of(r *Resource, rec Record) (ids []string) {
	for _, name := range r.Within {
		f := r.byName[name]
		id, ok := f.Value(rec).(string)
		switch {
		case !ok:
			continue
		case f.Ref == nil || f.Ref.resource.IsPlace():
			ids = append(ids, id)
		case len(s.known[id]) == 0:
			return nil
		default:
			ids = append(ids, s.known[id]...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// has reports whether a record belongs to the places of the caller.
func (s *scope) has(ctx context.Context, r *Resource, rec Record) (bool, error) {
	if s.only == nil || s.only.owns(r, rec.Meta().ID) {
		return true, nil
	}
	err := s.load(ctx, r, rec)
	return err == nil && s.only.Cover(s.of(r, rec)), err
}

// Within returns the records of a resource that belong to some places, all for nil. It serves stores
// in memory and defines what the other stores must return ([Query].Only). It reorders records.
func (p *Places) Within(ctx context.Context, from Reader, r *Resource, recs []Record) ([]Record, error) {
	if p == nil {
		return recs, nil
	}
	of := &scope{from: from, known: map[string][]string{}}
	if err := of.load(ctx, r, recs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(recs, func(rec Record) bool {
		return !p.owns(r, rec.Meta().ID) && !p.Cover(of.of(r, rec))
	}), nil
}

// Limited returns a reader of the records that belong to some places only, and the reader itself for
// nil. Others are absent.
func Limited(from Reader, only *Places) Reader {
	if only == nil {
		return from
	}
	l := limited{from, only}
	if latest, ok := from.(LatestLister); ok {
		return limitedLatest{l, latest}
	}
	return l
}

// limited is a reader of the records of some places.
type limited struct {
	Reader
	only *Places
}

// Get returns a record, or [Absent].
func (l limited) Get(ctx context.Context, r *Resource, id string) (Record, error) {
	page, err := l.List(ctx, (&Query{Resource: r, Limit: 1}).Where("id", id))
	if err == nil && len(page.Records) == 0 {
		err = Absent(r)
	}
	if err != nil {
		return nil, err
	}
	return page.Records[0], nil
}

// List returns the records of a query.
func (l limited) List(ctx context.Context, q *Query) (*Page, error) {
	return l.Reader.List(ctx, l.query(q))
}

func (l limited) query(q *Query) *Query {
	of := *q
	of.Only = l.only
	return &of
}

// unlimited returns the reader of all records, and the limit.
func (l limited) unlimited() (Reader, *Places) { return l.Reader, l.only }

// Fresh returns the reader of the same records that sees all completed changes ([FreshReader]).
func (l limited) Fresh() Reader { return Limited(Fresh(l.Reader), l.only) }

// limitedLatest is limited with latest records.
type limitedLatest struct {
	limited
	latest LatestLister
}

// ListLatest returns the latest records of a query ([LatestLister]).
func (l limitedLatest) ListLatest(ctx context.Context, q *Query) (*Page, error) {
	return l.latest.ListLatest(ctx, l.query(q))
}
