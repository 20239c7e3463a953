package records

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

// together is a transaction of [Engine.Together].
type together struct {
	tx      Tx
	vacated vacated
	stale   bool // a record has changed since the transaction read it
}

// Together runs f in one transaction. The calls of the engine that f gets are part of it: it commits
// when f returns nil. Unique keys and places count in the end ([Engine.Settle]). f may run more than once, and must return the errors
// of the engine's calls, or else an error of its own, since a call that fails may have made some of its changes.
func (v *Engine) Together(ctx context.Context, f func(ctx context.Context, in *Engine) error) error {
	if v.within != nil {
		return f(ctx, v)
	}
	for attempt := 1; ; attempt++ {
		var of *together
		err := v.change(ctx, func(tx Tx) error {
			of = &together{tx: tx, vacated: vacated{leavers: map[string]*leaver{}}}
			in := *v
			in.within, in.beforeChange, in.beforeCommit = of, nil, nil
			if err := f(ctx, &in); err != nil {
				return err
			}
			return in.Settle(ctx)
		})
		if err == nil || of == nil || !of.stale || attempt == maxAttempts {
			return err
		}
	}
}

// Settle checks the unique keys and places of the changes that the function of [Engine.Together] has made so far. Together
// does it at the end. The Items of an error have their positions among those of all calls.
func (v *Engine) Settle(ctx context.Context) error {
	if v.within == nil {
		return errOutside
	}
	return v.scope(v.within.tx, false).settle(ctx, v.within.tx, nil, nil)
}

// errOutside is returned by calls that need the transaction of Together.
var errOutside = errors.New("records: List, Resolve, Find and Settle belong in the function of Engine.Together")

// reader returns what the caller may see in the transaction of Together.
func (v *Engine) reader() (Reader, error) {
	if v.within == nil {
		return nil, errOutside
	}
	return Limited(v.within.tx, v.scope(v.within.tx, false).only), nil
}

// List returns the records of a query that the caller may see, in the transaction of [Engine.Together].
func (v *Engine) List(ctx context.Context, q *Query) (*Page, error) {
	from, err := v.reader()
	if err != nil {
		return nil, err
	}
	return from.List(ctx, q)
}

// Resolve replaces the natural keys in patches of a resource by ids, in the transaction of
// [Engine.Together]: the member location becomes location_id. It returns the patches with errors,
// which are of kind [Invalid] or [Unresolved], and leaves the members of these.
func (v *Engine) Resolve(ctx context.Context, r *Resource, patches []Patch) (wrong []ItemError, err error) {
	from, err := v.reader()
	if err != nil {
		return nil, err
	}
	return Resolve(ctx, from, r, patches)
}

// Resolve is [Engine.Resolve] with the records of a reader, for calls that change nothing.
func Resolve(ctx context.Context, from Reader, r *Resource, patches []Patch) (wrong []ItemError, err error) {
	type member struct {
		*lookup
		field *Field
		patch int
	}
	var all []member
	var lookups []*lookup
	failed := make([]error, len(patches))
	for i, p := range patches {
		var fields []FieldError
		first := len(all)
		for _, f := range r.fields {
			name := f.Member
			doc, ok := p[name]
			if name == "" || !ok {
				continue
			}
			if isNull(doc) {
				all = append(all, member{nil, f, i})
				continue
			}
			l, err := f.Ref.resource.parseKey(doc, 0)
			if err != nil {
				fields = append(fields, InField(name, err))
				continue
			}
			of := f.Ref.resource.owner(r)
			if owner := slices.IndexFunc(all[first:], func(m member) bool { return m.field == of && m.lookup != nil }); owner >= 0 {
				l.within(keyPart{Field: f.Ref.resource.byName[of.Name], ref: all[first+owner].lookup})
			} else if of != nil && p[of.Name] != nil {
				id, _ := of.keyValue(p[of.Name]) // what is wrong with it is reported with the record
				l.within(keyPart{Field: f.Ref.resource.byName[of.Name], value: id})
			}
			all, lookups = append(all, member{l, f, i}), append(lookups, l)
		}
		slices.SortFunc(fields, func(a, b FieldError) int { return strings.Compare(a.Field, b.Field) })
		failed[i] = r.invalid(fields)
	}
	if err := find(ctx, from, lookups); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.candidates(), b.candidates()) })
	parents := map[string]any{}
	for _, m := range all {
		if m.candidates() > 0 { // after the places that the patch names
			if err := m.narrow(ctx, from, parents, r, patches[m.patch]); err != nil {
				return nil, err
			}
		}
		failed[m.patch] = r.both(failed[m.patch], m.lookup.replace(r, m.field, patches[m.patch]))
	}
	for i, err := range failed {
		if wrong, err = AppendItemError(wrong, i, "", err); err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// both joins what is wrong with two members of a patch. The cause is that of a key whose record may exist later only if
// the other one is such a key too. A reason that both have is reported once.
func (r *Resource) both(first, second error) error {
	a, ok := errors.AsType[*Error](first)
	b, ok2 := errors.AsType[*Error](second)
	if !ok || !ok2 {
		return cmp.Or(first, second)
	}
	e := r.invalid(append(slices.Clip(a.Fields), slices.DeleteFunc(slices.Clone(b.Fields), func(f FieldError) bool {
		return slices.ContainsFunc(a.Fields, func(other FieldError) bool { return other.Reason == f.Reason })
	})...)).(*Error)
	e.Kind, e.Err = a.Kind, a.Err
	if key, ok := errors.AsType[*UnresolvedKey](b.Err); !ok || key.Several {
		e.Kind, e.Err = b.Kind, b.Err
	}
	return e
}

// replace puts the id that was found in place of a natural key. A nil lookup is that of null.
func (l *lookup) replace(r *Resource, f *Field, p Patch) error {
	id := []byte("null")
	switch {
	case l == nil:
	case l.found == nil:
		e := r.refuse(f.Member, l.problem())
		e.Kind, e.Err = Unresolved, l.cause
		return e
	default:
		id = []byte(`"` + l.found.Meta().ID + `"`)
	}
	if sent, ok := p[f.Name]; ok && !(isNull(sent) && isNull(id)) && !bytes.EqualFold(bytes.TrimSpace(sent), id) {
		e := r.refuse(f.Member, Inconsistent("the key of the record of "+f.Name+": send one of the two"))
		e.Kind = Unresolved
		return e
	}
	delete(p, f.Member)
	p[f.Name] = id
	return nil
}

// owner returns the reference of another resource to what its records are within, if the natural key of r has the same:
// the device of interfaces and their ports. Nil for none.
func (r *Resource) owner(of *Resource) *Field {
	for _, key := range r.Keys {
		for _, name := range key {
			f, same := r.byName[name], of.byName[name]
			if f.Ref != nil && f.Required && same != nil && same.Ref != nil && same.Ref.To == f.Ref.To {
				return same
			}
		}
	}
	return nil
}

// within adds the owner to the alternatives that do not name another one.
func (l *lookup) within(owner keyPart) {
	for i, parts := range l.alternatives {
		if !slices.ContainsFunc(parts, func(p keyPart) bool { return p.Field == owner.Field || p.Name == "id" }) {
			l.alternatives[i] = append(parts, owner)
		}
	}
}
