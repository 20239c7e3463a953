package records

import (
	"context"
	"fmt"
	"maps"
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

// Hidden stands for the id of a record that the caller does not see, where another one refers to it: in what is read
// ([Mask]), and in an update of an engine of [Engine.LimitTo] for what is stored.
const Hidden = "00000000-0000-0000-0000-000000000000"

// unlimiter is a reader of [Limited].
type unlimiter interface {
	unlimited() (Reader, *Places)
}

// Mask returns records of a resource as the caller of a reader of [Limited] may see them: in copies references to records that
// the reader does not have are [Hidden]. With another reader it returns the records.
func Mask(ctx context.Context, from Reader, r *Resource, recs ...Record) ([]Record, error) {
	if _, ok := from.(unlimiter); !ok {
		return recs, nil
	}
	copies := make([]Record, len(recs))
	for i, rec := range recs {
		copies[i] = Clone(rec)
	}
	return copies, mask(ctx, from, false, func(seen func(r *Resource, id string) string) {
		for _, rec := range copies {
			for _, f := range r.fields {
				if id, ok := f.Value(rec).(string); ok && f.Ref != nil && !slices.Contains(r.Within, f.Name) {
					f.Set(rec, seen(f.Ref.resource, id))
				}
			}
		}
	})
}

// MaskChanges does to entries of the audit log what [Mask] does to records: to the references in Changes, and to Cause. A
// record that was deleted is one that the caller sees if they saw its deletion.
func MaskChanges(ctx context.Context, from Reader, entries ...*AuditLog) error {
	kinds := map[string]*Resource{}
	for _, r := range from.Schema().Resources() {
		kinds[r.Kind()] = r
	}
	return mask(ctx, from, true, func(seen func(r *Resource, id string) string) {
		for _, e := range entries {
			if kind, id, _ := strings.Cut(e.Cause, "/"); kinds[kind] != nil {
				e.Cause = kind + "/" + seen(kinds[kind], id)
			}
			e.Changes = e.Changes.clone()
			for name, c := range e.Changes {
				if r := kinds[e.ResourceType]; r != nil && r.byName[name] != nil && r.byName[name].Ref != nil {
					for _, v := range []*any{&c.Before, &c.After} {
						if id, ok := (*v).(string); ok {
							*v = seen(r.byName[name].Ref.resource, id)
						}
					}
					e.Changes[name] = c
				}
			}
		}
	})
}

// mask calls each twice: with a function that notes the ids, and then with one that returns [Hidden] for those of records
// that a reader of [Limited] does not have, or whose deletion its caller did not see. It does nothing with another reader.
func mask(ctx context.Context, from Reader, deleted bool, each func(seen func(r *Resource, id string) string)) error {
	of, ok := from.(unlimiter)
	if !ok {
		return nil
	}
	all, only := of.unlimited()
	refs := map[*Resource]map[string]string{} // what is shown, by resource and id
	each(func(r *Resource, id string) string {
		if refs[r] == nil {
			refs[r] = map[string]string{}
		}
		refs[r][id] = Hidden
		return id
	})
	for r, ids := range refs {
		for chunk := range slices.Chunk(slices.Collect(maps.Keys(ids)), keysAtOnce) {
			found, err := from.List(ctx, (&Query{Resource: r, Limit: keysAtOnce}).WhereIn("id", chunk))
			if err != nil {
				return err
			}
			for _, rec := range found.Records {
				ids[rec.Meta().ID] = rec.Meta().ID
			}
			if chunk = slices.DeleteFunc(chunk, func(id string) bool { return ids[id] == id }); !deleted || len(chunk) == 0 {
				continue
			}
			q := (&Query{Resource: Of[AuditLog](all.Schema()), Limit: keysAtOnce}).WhereIn("resource_id", chunk)
			entries, err := Select[AuditLog](ctx, all, q, "action", "delete")
			if err != nil {
				return err
			}
			for _, e := range entries {
				if only.Seen(e) != nil {
					ids[e.ResourceID] = e.ResourceID
				}
			}
		}
	}
	each(func(r *Resource, id string) string { return refs[r][id] })
	return nil
}

// keepHidden sets what is stored in place of [Hidden] in an update.
func (r *Resource) keepHidden(before, after Record) {
	for _, f := range r.fields {
		if stored := f.Value(before); f.Ref != nil && stored != nil && f.Value(after) == Hidden {
			f.Set(after, stored)
		}
	}
}
