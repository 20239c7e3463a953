package records

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A natural key is what people and files name a record by, such as the hostname of a device and its
// location. A body may have the natural key of a referenced record in place of the id: the reference
// location_id has the member location, whose value is
//
//   - a string or number, if one field is enough: "location": "VIE-1"
//   - an object with fields of the natural keys: "device": {"hostname": "sw1", "location": "VIE-1"}
//   - null for no reference
//
// A field that the object omits may have any value, and null is no value. The key must fit exactly one
// record. A string is looked up by each natural key with a single field in turn, until one fits.
//
// Of a reference to a record that has the same owner, such as the LAG of an interface on its device, the owner is
// that of the record unless the key says otherwise.

// UnresolvedKey is the cause of an error of kind [Unresolved].
type UnresolvedKey struct {
	Resource *Resource // that lacks the record, or has several
	Value    string    // of the field that names the record, such as a hostname
	Several  bool
}

// Error returns what is wrong with the key.
func (u *UnresolvedKey) Error() string {
	if u.Several {
		return fmt.Sprintf("several %s have the key %q", u.Resource.Name, u.Value)
	}
	return fmt.Sprintf("no record of %s has the key %q", u.Resource.Name, u.Value)
}

// setKeys checks the natural keys, and sets the default and the members of references.
func (r *Resource) setKeys() error {
	if r.Keys == nil {
		for _, u := range r.uniques {
			if u.Without == "" && !slices.ContainsFunc(u.Fields, func(name string) bool { return r.byName[name] == nil || !r.byName[name].shown() }) {
				r.Keys = [][]string{u.Fields}
				break
			}
		}
	}
	if slices.ContainsFunc(r.Keys, func(key []string) bool { return len(key) == 0 }) {
		return fmt.Errorf("a natural key of %s has no fields", r.Name)
	}
	for _, key := range append(slices.Clip(r.Keys), r.Apart) {
		for _, name := range key {
			if f := r.byName[name]; f == nil || !f.Scalar() || f.Kind != Text && f.Kind != Int {
				return fmt.Errorf("a natural key of %s has the field %q: use texts, whole numbers and references", r.Name, name)
			}
		}
	}
	return nil
}

// setMembers sets the members that stand for references, when all resources have their keys.
func (r *Resource) setMembers() {
	for _, f := range r.fields {
		member, ok := strings.CutSuffix(f.Name, "_id")
		if !ok || f.Ref == nil || f.ReadOnly || r.byName[member] != nil || slices.Contains(reserved, member) || len(f.Ref.resource.Keys) == 0 {
			continue
		}
		f.Member = member
		if r.byMember == nil {
			r.byMember = map[string]*Field{}
		}
		r.byMember[member] = f
	}
}

// ByMember returns the reference that a member with a natural key stands for (see [Field].Member).
func (r *Resource) ByMember(name string) (*Field, bool) {
	f, ok := r.byMember[name]
	return f, ok
}

// HasNaturalKeys reports whether a patch has a natural key in place of an id.
func (r *Resource) HasNaturalKeys(p Patch) bool {
	for name := range p {
		if r.byMember[name] != nil {
			return true
		}
	}
	return false
}

// keyFields returns the fields of all natural keys, and those that tell equal ones apart.
func (r *Resource) keyFields() (fields []*Field) {
	for _, key := range append(slices.Clip(r.Keys), r.Apart) {
		for _, name := range key {
			if f := r.byName[name]; !slices.Contains(fields, f) {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// KeyMembers returns the members that an object with a natural key of the resource may have, besides id.
func (r *Resource) KeyMembers() (members []string) {
	for _, f := range r.keyFields() {
		members = append(members, f.Name)
		if f.Member != "" {
			members = append(members, f.Member)
		}
	}
	return members
}

// ShortKeys returns the fields of the natural keys that a string or number alone stands for, in the
// order in which they are looked up.
func (r *Resource) ShortKeys() (fields []*Field) {
	for _, key := range r.Keys {
		var own []*Field
		for _, name := range key {
			if f := r.byName[name]; f.Ref == nil {
				own = append(own, f)
			}
		}
		if len(own) == 1 {
			fields = append(fields, own[0])
		}
	}
	return fields
}

// lookup is a natural key to look up.
type lookup struct {
	*Resource
	alternatives [][]keyPart // the first that fits a record counts
	apart        []keyPart   // of a patch: what tells records apart that the last alternative fits
	patch        Patch       // that has these
	adopted      bool        // the record that was found has no values of apart, or others that do not matter
	label        string      // the value that names the record, for messages
	found        Record      // the result
	cause        *UnresolvedKey
	several      []Record // that fit
}

// keyPart is a condition on one field.
type keyPart struct {
	*Field
	value any     // nil is no value
	ref   *lookup // of the record that is referred to; its id becomes the value
}

// maxKeyDepth bounds how deep natural keys contain others: an interface of a device of a location of
// another location, and so on.
const maxKeyDepth = 8

// parseKey reads a natural key. The error says what is expected.
func (r *Resource) parseKey(doc json.RawMessage, depth int) (*lookup, error) {
	l := &lookup{Resource: r}
	doc = bytes.TrimSpace(doc)
	if len(doc) == 0 || depth == maxKeyDepth {
		return nil, TooMany(maxKeyDepth, "natural keys within each other")
	}
	if doc[0] == '{' {
		return l, l.parseObject(doc, depth)
	}
	for _, f := range r.ShortKeys() {
		v, err := f.keyValue(doc)
		if err != nil {
			continue
		}
		l.alternatives = append(l.alternatives, []keyPart{{Field: f, value: v}})
		l.label = fmt.Sprint(v)
	}
	if l.alternatives == nil {
		return nil, BadFormat(r.keyForm())
	}
	return l, nil
}

// keyForm describes the natural keys of the resource: `the site_code or name of a location`.
func (r *Resource) keyForm() string {
	short := names(r.ShortKeys(), nil)
	object := "an object with " + strings.Join(r.KeyMembers(), ", ")
	if len(short) == 0 {
		return object
	}
	return "the " + strings.Join(short, " or ") + " of a " + r.Noun() + ", or " + object
}

// parseObject reads a natural key that is an object.
func (l *lookup) parseObject(doc json.RawMessage, depth int) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return BadFormat(l.keyForm())
	}
	if id, ok := members["id"]; ok && len(members) == 1 {
		v, err := l.byName["id"].keyValue(id)
		if err != nil {
			return fmt.Errorf("has an id that %w", err)
		}
		if v == Hidden { // an update keeps what is stored
			l.found = l.New()
			l.found.Meta().ID = Hidden
		}
		l.alternatives, l.label = [][]keyPart{{{Field: l.byName["id"], value: v}}}, fmt.Sprint(v)
		return nil
	}
	allowed := l.keyFields()
	var parts []keyPart
	for _, name := range slices.Sorted(maps.Keys(members)) {
		f, byMember := l.byMember[name]
		if !byMember {
			f = l.byName[name]
		}
		if f == nil || !slices.Contains(allowed, f) {
			return fmt.Errorf("has the member %q, which %w", shorten(name), Unknown("part of a natural key of "+l.Name, "use "+strings.Join(l.KeyMembers(), ", ")))
		}
		part := keyPart{Field: f}
		var err error
		switch null := string(members[name]) == "null"; {
		case null:
		case byMember:
			part.ref, err = f.Ref.resource.parseKey(members[name], depth+1)
		default:
			part.value, err = f.keyValue(members[name])
		}
		if err != nil {
			return fmt.Errorf("has the member %s, which %w", name, err)
		}
		if f.Ref == nil && part.value != nil {
			l.label = fmt.Sprint(part.value)
		}
		parts = append(parts, part)
	}
	if !slices.ContainsFunc(parts, func(p keyPart) bool { return p.value != nil || p.ref != nil }) {
		return BadFormat(l.keyForm())
	}
	l.alternatives = [][]keyPart{parts}
	return nil
}

// keyValue reads one value in its stored form. An empty string is no value.
func (f *Field) keyValue(doc json.RawMessage) (any, error) {
	if f.Kind == Int {
		var n int64
		if err := json.Unmarshal(wholeNumber(doc), &n); err != nil {
			return nil, WrongKind(f.Kind)
		}
		return n, nil
	}
	var s string
	if err := json.Unmarshal(doc, &s); err != nil {
		return nil, WrongKind(f.Kind)
	}
	if s == "" {
		return nil, nil
	}
	if len(s) > maxValue {
		return nil, TooLong(maxValue, "bytes")
	}
	return f.canonical(s)
}

// keysAtOnce is the number of records that one query of KeysOf reads.
const keysAtOnce = 100

// KeysOf returns the natural keys of records by their ids, as objects that a body may have in place of
// an id: the fields of the first key that has values, those that tell it apart (Definition.Apart), and the keys of
// other records in it. A record that has none, that several others equal, or that the reader does not have, is {"id": …}. References
// in them are those of [Mask].
func KeysOf(ctx context.Context, from Reader, r *Resource, ids []string) (map[string]json.RawMessage, error) {
	return r.naturalKeys(ctx, from, ids, 0)
}

func (r *Resource) naturalKeys(ctx context.Context, from Reader, ids []string, depth int) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage, len(ids))
	var recs []Record
	for chunk := range slices.Chunk(ids, keysAtOnce) {
		in := make([]any, len(chunk))
		for i, id := range chunk {
			in[i], all[id] = id, json.RawMessage(`{"id":"`+id+`"}`)
		}
		page, err := from.List(ctx, (&Query{Resource: r, Limit: keysAtOnce}).Where("id", Condition{In, in}))
		if err != nil {
			return nil, err
		}
		if page.Records, err = Mask(ctx, from, r, page.Records...); err != nil {
			return nil, err
		}
		recs = append(recs, page.Records...)
	}
	if depth == maxKeyDepth-1 {
		return all, nil
	}
	keys, err := r.keysApart(ctx, from, recs)
	if err != nil {
		return nil, err
	}
	referred := map[*Field][]string{}
	for i, rec := range recs {
		for _, f := range keys[i] {
			if id, ok := f.Value(rec).(string); ok && f.Ref != nil && !slices.Contains(referred[f], id) {
				referred[f] = append(referred[f], id)
			}
		}
	}
	inner := map[*Field]map[string]json.RawMessage{}
	for f, ids := range referred {
		var err error
		if inner[f], err = f.Ref.resource.naturalKeys(ctx, from, ids, depth+1); err != nil {
			return nil, err
		}
	}
	for i, rec := range recs {
		if keys[i] == nil {
			continue
		}
		object := &keyObject{}
		for _, f := range keys[i] {
			id, ok := f.Value(rec).(string)
			switch {
			case f.Member == "":
				object.member(f.Name, f.Value(rec))
			case ok:
				object.member(f.Member, inner[f][id])
			default:
				object.member(f.Member, nil)
			}
		}
		all[rec.Meta().ID] = object.end()
	}
	return all, nil
}

// keysApart returns the fields of the natural keys of records, nil for a record without one, or with that of another.
func (r *Resource) keysApart(ctx context.Context, from Reader, recs []Record) ([][]*Field, error) {
	keys := make([][]*Field, len(recs))
	for i, rec := range recs {
		keys[i] = r.keyOf(rec)
	}
	if len(r.Apart) == 0 && slices.ContainsFunc(r.uniques, func(u Unique) bool { return slices.Equal(u.Fields, r.Keys[0]) }) {
		return keys, nil
	}
	for _, more := range []bool{true, false} {
		lookups := make([]*lookup, len(recs))
		for i, rec := range recs {
			lookups[i] = &lookup{Resource: r}
			var parts []keyPart
			for _, f := range keys[i] {
				parts = append(parts, keyPart{Field: f, value: f.Value(rec)})
			}
			if parts != nil {
				lookups[i].alternatives = [][]keyPart{parts}
			}
		}
		if err := find(ctx, from, lookups); err != nil {
			return nil, err
		}
		for i, l := range lookups {
			switch several := l.cause != nil && l.cause.Several; {
			case several && more:
				keys[i] = r.addApart(keys[i], nil)
			case several:
				keys[i] = nil
			}
		}
	}
	return keys, nil
}

// addApart adds the fields that tell equal keys apart, of a record those with values.
func (r *Resource) addApart(fields []*Field, rec Record) []*Field {
	for _, name := range r.Apart {
		if f := r.byName[name]; !slices.Contains(fields, f) && (rec == nil || f.Value(rec) != nil) {
			fields = append(fields, f)
		}
	}
	return fields
}

// shares reports whether others may have the natural key of a record.
func (r *Resource) shares(rec Record) bool {
	n, ok := rec.(Namesake)
	return len(r.Apart) > 0 && (!ok || n.Shares())
}

// keyOf returns the fields of the first natural key that a record has values for, nil for none.
func (r *Resource) keyOf(rec Record) (fields []*Field) {
	for _, key := range r.Keys {
		fields = nil
		values := 0
		for _, name := range key {
			f := r.byName[name]
			fields = append(fields, f)
			if v := f.Value(rec); v != nil && v != "" {
				values++
			} else if f.Ref == nil {
				values = -len(key)
			}
		}
		refs := !slices.ContainsFunc(fields, func(f *Field) bool { return f.Ref == nil })
		if values > 0 && (!refs || values == len(key)) {
			if r.shares(rec) {
				fields = r.addApart(fields, rec)
			}
			return fields
		}
	}
	return nil
}

// keyObject is a JSON object with members in order.
type keyObject []byte

// member adds a member. The value is a text, a number, a document or nil.
func (o *keyObject) member(name string, value any) {
	before := byte(',')
	if len(*o) == 0 {
		before = '{'
	}
	key, _ := json.Marshal(name)
	doc, _ := json.Marshal(value)
	*o = slices.Concat(*o, []byte{before}, key, []byte{':'}, doc)
}

func (o *keyObject) end() json.RawMessage { return append(json.RawMessage(*o), '}') }
