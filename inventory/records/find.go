package records

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The bounds of one query for natural keys.
const (
	maxKeys    = 100  // values of one field
	maxMatches = 1001 // records; with more, each key is looked up by itself
)

// find looks up natural keys, those within others first. Keys that differ in one value only share a
// query.
func find(ctx context.Context, from Reader, lookups []*lookup) error {
	var inner []*lookup
	most := 0
	for _, l := range lookups {
		most = max(most, len(l.alternatives))
		for _, parts := range l.alternatives {
			for _, p := range parts {
				if p.ref != nil {
					inner = append(inner, p.ref)
				}
			}
		}
	}
	if len(inner) > 0 {
		if err := find(ctx, from, inner); err != nil {
			return err
		}
	}
	for _, l := range lookups {
		l.takeIDs()
	}
	for n := range most {
		groups, order := map[string][]*lookup{}, []string{}
		for _, l := range lookups {
			if l.found != nil || l.cause != nil || n >= len(l.alternatives) {
				continue
			}
			key := l.groupOf(n, loose(l.alternatives[n]))
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], l)
		}
		for _, key := range order {
			for chunk := range slices.Chunk(groups[key], maxKeys) {
				if err := findGroup(ctx, from, chunk, n, loose(chunk[0].alternatives[n])); err != nil {
					return err
				}
			}
		}
	}
	for _, l := range lookups {
		if l.found == nil && l.cause == nil {
			l.cause = &UnresolvedKey{Resource: l.Resource, Value: l.label}
		}
	}
	return nil
}

// takeIDs sets the values of the parts that refer to records.
func (l *lookup) takeIDs() {
	for _, parts := range l.alternatives {
		for i, p := range parts {
			switch {
			case p.ref == nil:
			case p.ref.found == nil:
				l.cause = p.ref.cause
			default:
				parts[i].value = p.ref.found.Meta().ID
			}
		}
	}
}

// varying returns the index of the part whose values one query may have several of, -1 for none.
func varying(parts []keyPart) int {
	return slices.IndexFunc(parts, func(p keyPart) bool { return p.value != nil && p.Ref == nil })
}

// loose reports whether records are looked up by the field that names them alone, and their references
// compared afterwards: a database may prefer the index of an optional reference, which has many more
// records, such as all devices of a location. A required one, as that of an interface, has few.
func loose(parts []keyPart) bool {
	free := varying(parts)
	return free >= 0 && len(parts) > 1 && parts[free].Index && !slices.ContainsFunc(parts, func(p keyPart) bool { return p.Ref != nil && p.Required })
}

// fits reports whether a record has the values of a key.
func fits(parts []keyPart, rec Record) bool {
	return !slices.ContainsFunc(parts, func(p keyPart) bool { return p.Value(rec) != p.value })
}

// groupOf returns what lookups that share a query have in common.
func (l *lookup) groupOf(n int, loose bool) string {
	var key strings.Builder
	key.WriteString(l.Name)
	parts := l.alternatives[n]
	free := varying(parts)
	for i, p := range parts {
		switch {
		case i == free:
			fmt.Fprintf(&key, "\n%s?", p.Name)
		case !loose:
			fmt.Fprintf(&key, "\n%s=%T%v", p.Name, p.value, p.value)
		}
	}
	return key.String()
}

// findGroup looks up keys that share a query. loose is that of groupOf.
func findGroup(ctx context.Context, from Reader, lookups []*lookup, n int, loose bool) error {
	parts := lookups[0].alternatives[n]
	free := varying(parts)
	q := &Query{Resource: lookups[0].Resource, Limit: maxMatches}
	for i, p := range parts {
		switch {
		case i != free && loose:
		case p.value == nil:
			q.Filters = append(q.Filters, Filter{p.Field, IsNull, true})
		case i != free || len(lookups) == 1:
			q.Filters = append(q.Filters, Filter{p.Field, Eq, p.value})
		default:
			q.Filters = append(q.Filters, Filter{p.Field, In, valuesOf(lookups, n)})
		}
	}
	page, err := from.List(ctx, q)
	if err != nil {
		return err
	}
	if page.More && (len(lookups) > 1 || loose) {
		for i := range lookups {
			if err := findGroup(ctx, from, lookups[i:i+1], n, false); err != nil {
				return err
			}
		}
		return nil
	}
	found := map[any][]Record{}
	for _, rec := range page.Records {
		var value any
		if free >= 0 {
			value = parts[free].Value(rec)
		}
		found[value] = append(found[value], rec)
	}
	for _, l := range lookups {
		var value any
		if own := varying(l.alternatives[n]); own >= 0 {
			value = l.alternatives[n][own].value
		}
		l.take(found[value], n)
	}
	return nil
}

// take sets the result of a lookup: the only one of some records that fits.
func (l *lookup) take(recs []Record, n int) {
	fit := slices.DeleteFunc(slices.Clone(recs), func(rec Record) bool { return !fits(l.alternatives[n], rec) })
	if len(l.apart) > 0 && n == len(l.alternatives)-1 {
		exact := slices.DeleteFunc(slices.Clone(fit), func(rec Record) bool { return !fits(l.apart, rec) })
		if l.adopted = len(exact) == 0 && len(fit) == 1 && l.adopts(fit[0]); !l.adopted {
			fit = exact
		}
	}
	switch len(fit) {
	case 0:
	case 1:
		l.found = Clone(fit[0]) // several keys may be equal
	default:
		l.cause, l.several = &UnresolvedKey{Resource: l.Resource, Value: l.label, Several: true}, fit
	}
}

// narrow takes the only one of several records that is within a place which the patch names too: of racks with one
// name that of the site. parents are those of places, by their ids.
func (l *lookup) narrow(ctx context.Context, from Reader, parents map[string]any, r *Resource, p Patch) error {
	for _, at := range l.fields {
		if at.Ref == nil || at.Ref.resource.parent() == nil {
			continue
		}
		for _, f := range r.fields {
			if f.Ref == nil || f.Ref.resource != at.Ref.resource || p[f.Name] == nil {
				continue
			}
			place, _ := f.keyValue(p[f.Name]) // what is wrong with it is reported with the record
			var fit []Record
			for _, rec := range l.several {
				in, err := at.Ref.resource.isWithin(ctx, from, parents, at.Value(rec), place)
				if err != nil {
					return err
				}
				if in {
					fit = append(fit, rec)
				}
			}
			if len(fit) == 1 {
				l.found, l.cause = Clone(fit[0]), nil
			}
			return nil
		}
	}
	return nil
}

// candidates returns how many records fit, if that is more than one.
func (l *lookup) candidates() int {
	if l == nil || l.cause == nil {
		return 0
	}
	return len(l.several)
}

// parent returns the reference of the records of a tree, such as locations, to the one above; nil for other records.
func (r *Resource) parent() *Field {
	for _, f := range r.fields {
		if f.Ref != nil && f.Ref.resource == r {
			return f
		}
	}
	return nil
}

// maxAbove bounds the records above one in a tree.
const maxAbove = 100

// isWithin reports whether a record of a tree is another one or below it. parents are known ones, by id.
func (r *Resource) isWithin(ctx context.Context, from Reader, parents map[string]any, id, above any) (bool, error) {
	for range maxAbove {
		text, ok := id.(string)
		if id == above || !ok {
			return ok, nil
		}
		parent, known := parents[text]
		if !known {
			rec, err := from.Get(ctx, r, text)
			if KindOf(err) == NotFound { // the sender may not see what is above
				return false, nil
			}
			if err != nil {
				return false, err
			}
			parent = r.parent().Value(rec)
			parents[text] = parent
		}
		id = parent
	}
	return false, nil
}

// adopts reports whether a patch means a record with its natural key, and other values of what tells records apart:
// the record has none of them, or is the only one that may have the key, before and after.
func (l *lookup) adopts(rec Record) bool {
	after := Clone(rec)
	if err := l.Patch(l.patch)(after); err == nil {
		_ = l.Check(after) // in its stored form; what is wrong with it is reported later
	}
	return !l.shares(rec) && !l.shares(after) ||
		!slices.ContainsFunc(l.apart, func(p keyPart) bool { v := p.Value(rec); return v != nil && v != p.value })
}

// valuesOf returns the distinct values of the varying part.
func valuesOf(lookups []*lookup, n int) (values []any) {
	seen := map[any]bool{}
	for _, l := range lookups {
		parts := l.alternatives[n] // with loose, some may have references that others lack
		if v := parts[varying(parts)].value; !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// problem says what is wrong with a key that fits no record, or several.
func (l *lookup) problem() FieldError {
	of := l.cause.Resource
	named := of.Noun()
	if short := names(of.ShortKeys(), nil); len(short) > 0 {
		named += " with the " + strings.Join(short, " or ")
	}
	if l.cause.Several {
		return Wrong("ambiguous", "names several records of %s (%s %q): name one by an object with %s, or by id",
			of.Name, named, shorten(l.cause.Value), strings.Join(of.KeyMembers(), ", "))
	}
	return Wrong("not_found", "names no record of %s: there is no %s %q", of.Name, named, shorten(l.cause.Value))
}

// Find returns the records of a resource that patches mean, in the transaction of [Engine.Together]:
// the record with the id of the patch, or else with its first natural key that has values for all
// fields that are no references. Of several records with the key it is the one with the values of
// Definition.Apart that the patch has; the only one is it too if it has none of these values.
// Neither that nor a record with another id than the patch is taken if another patch means it, or claimed, which may be nil,
// says so. Without such a record it is nil. The keys tell the records apart,
// also new ones. The patches have ids in place of natural keys of other records ([Engine.Resolve]). It
// returns the patches with errors, which are of kind [Invalid] or [Unresolved].
func (v *Engine) Find(ctx context.Context, r *Resource, patches []Patch, claimed func(id string) bool) (found []Record, keys []string, wrong []ItemError, err error) {
	from, err := v.reader()
	if err != nil {
		return nil, nil, nil, err
	}
	lookups := make([]*lookup, len(patches))
	var valid []*lookup
	for i, p := range patches {
		l, err := r.lookupOf(p)
		if wrong, err = AppendItemError(wrong, i, "", err); err != nil {
			return nil, nil, nil, err
		}
		if lookups[i] = l; l != nil {
			valid = append(valid, l)
		}
	}
	if err := find(ctx, from, valid); err != nil {
		return nil, nil, nil, err
	}
	found, keys = make([]Record, len(patches)), make([]string, len(patches))
	meant := map[string]bool{}
	for _, l := range valid {
		if l.found != nil && !l.guessed() {
			meant[l.found.Meta().ID] = true
		}
	}
	for i, l := range lookups {
		if l != nil && l.found != nil && l.guessed() {
			id := l.found.Meta().ID
			if meant[id] || claimed != nil && claimed(id) {
				l.found, l.cause = nil, &UnresolvedKey{Resource: r}
			}
			meant[id] = true
		}
		switch {
		case l == nil:
		case l.found != nil:
			found[i], keys[i] = l.found, l.found.Meta().ID
		case l.cause.Several:
			e := newInvalid(r, []FieldError{{cmp.Or(l.ownField(), "id"), "ambiguous", "fits several " + r.Name + ": add id, or what else tells them apart"}})
			e.Kind, e.Err = Unresolved, l.cause
			wrong = append(wrong, ItemError{i, "", e})
		default:
			keys[i] = l.text()
		}
	}
	return found, keys, wrong, nil
}

// guessed reports whether the record that was found may be another one than the patch means.
func (l *lookup) guessed() bool {
	first := l.alternatives[0][0]
	return l.adopted || first.Name == "id" && first.value != l.found.Meta().ID
}

// ownField returns the name of the field that names the record.
func (l *lookup) ownField() string {
	parts := l.alternatives[len(l.alternatives)-1]
	if i := varying(parts); i >= 0 {
		return parts[i].Name
	}
	return parts[len(parts)-1].Name
}

// text returns the natural key as a string.
func (l *lookup) text() string {
	var key strings.Builder
	key.WriteString(l.Name)
	parts := slices.Concat(l.alternatives[len(l.alternatives)-1], l.apart)
	if first := l.alternatives[0]; first[0].Name == "id" {
		parts = first
	}
	for _, p := range parts {
		fmt.Fprintf(&key, "\n%s=%T%v", p.Name, p.value, p.value)
	}
	return key.String()
}

// lookupOf returns the lookup of the record that a patch means.
func (r *Resource) lookupOf(p Patch) (*lookup, error) {
	l := &lookup{Resource: r}
	if doc, ok := p["id"]; ok && !isNull(doc) {
		id, err := r.byName["id"].keyValue(doc)
		if err != nil {
			return nil, r.refuse("id", err)
		}
		l.alternatives, l.label = append(l.alternatives, []keyPart{{Field: r.byName["id"], value: id}}), fmt.Sprint(id)
	}
	var wrong []FieldError
	for _, key := range r.Keys {
		parts, fields := r.partsOf(key, p)
		if wrong = append(wrong, fields...); parts == nil {
			continue
		}
		if i := varying(parts); i >= 0 {
			l.label = fmt.Sprint(parts[i].value)
		}
		l.alternatives, l.patch = append(l.alternatives, parts), p
		for _, name := range r.Apart {
			if doc, ok := p[name]; ok && !slices.Contains(key, name) {
				part := keyPart{Field: r.byName[name]}
				if !isNull(doc) {
					part.value, _ = part.keyValue(doc) // what is wrong with it is reported with the record
				}
				l.apart = append(l.apart, part)
			}
		}
		return l, nil
	}
	switch {
	case len(wrong) > 0:
		return nil, r.invalid(wrong)
	case len(l.alternatives) > 0:
		return l, nil
	case len(r.Keys) == 0:
		return nil, r.refuse("id", Missing(r.Name+" have no natural key"))
	}
	return nil, r.refuse(r.Keys[0][len(r.Keys[0])-1], Missing("name the record by "+strings.Join(r.KeyMembers(), ", ")+", or by id"))
}

// partsOf returns the values of a natural key, nil if one is missing: references may be missing beside
// other values.
func (r *Resource) partsOf(key []string, p Patch) (parts []keyPart, wrong []FieldError) {
	refs := !slices.ContainsFunc(key, func(name string) bool { return r.byName[name].Ref == nil })
	for _, name := range key {
		f := r.byName[name]
		doc, ok := p[name]
		if !ok {
			if refs || f.Ref == nil || f.Required {
				return nil, nil
			}
			continue
		}
		part := keyPart{Field: f}
		if !isNull(doc) {
			var err error
			if part.value, err = f.keyValue(doc); err != nil {
				return nil, []FieldError{InField(name, err)}
			}
		}
		if part.value == nil && (refs || f.Ref == nil || f.Required) {
			return nil, nil
		}
		parts = append(parts, part)
	}
	return r.normalizeKey(parts), nil
}

// normalizeKey applies the hook that converts records to their stored form, such as the order of the
// ends of a cable, which may be that of another natural key.
func (r *Resource) normalizeKey(parts []keyPart) []keyPart {
	rec := r.New()
	n, ok := rec.(Normalizer)
	if !ok {
		return parts
	}
	for _, p := range parts {
		p.Set(rec, p.value)
	}
	n.Normalize()
	moved := false
	for i, p := range parts {
		if p.value != nil {
			parts[i].value = p.Value(rec)
			moved = moved || parts[i].value == nil
		}
	}
	if !moved {
		return parts
	}
	missing := func(name string) bool { return r.byName[name].Value(rec) == nil }
	for _, key := range r.Keys {
		if len(key) != len(parts) || slices.ContainsFunc(key, missing) {
			continue
		}
		for i, name := range key {
			f := r.byName[name]
			parts[i] = keyPart{Field: f, value: f.Value(rec)}
		}
		break
	}
	return parts
}

// isNull reports whether JSON is null, or the empty string, which stands for no reference.
func isNull(doc json.RawMessage) bool {
	doc = bytes.TrimSpace(doc)
	return string(doc) == "null" || string(doc) == `""`
}
