package storetest

import (
	"maps"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// model is the reference implementation of a store's changes: it looks through all records.
type model struct {
	records  map[string]records.Record    // by id; a changed record replaces the old one
	absent   map[string]*records.Resource // ids that the store must not have, until it was asked for them
	released map[string]bool              // ids of records that have just lost a reference
}

func newModel() *model {
	return &model{map[string]records.Record{}, map[string]*records.Resource{}, map[string]bool{}}
}

func (m *model) clone() *model {
	return &model{maps.Clone(m.records), maps.Clone(m.absent), map[string]bool{}}
}

// of returns the records of a resource, in any order.
func (m *model) of(r *records.Resource) (all []records.Record) {
	for _, rec := range m.records {
		if resourceOf(rec) == r {
			all = append(all, rec)
		}
	}
	return all
}

// violations returns the errors for the keys and references of a record. It ignores the record
// with the id except, which the record replaces.
func (m *model) violations(rec records.Record, except string) (all []*records.Error) {
	r := resourceOf(rec)
	keys := r.Uniques()
	for id, other := range m.records {
		if id == except || resourceOf(other) != r {
			continue
		}
		for _, key := range keys {
			if sameKey(r, key, rec, other) {
				all = append(all, records.Duplicate(r, key))
			}
		}
	}
	for _, field := range references[r] {
		if id, ok := field.Value(rec).(string); ok && m.records[id] == nil {
			all = append(all, records.Dangling(r, field))
		}
	}
	return all
}

func sameKey(r *records.Resource, key records.Unique, a, b records.Record) bool {
	if without, ok := r.Field(key.Without); ok && (without.Value(a) != nil || without.Value(b) != nil) {
		return false
	}
	for _, name := range key.Fields {
		field := r.KeyField(name)
		if v := field.Value(a); v == nil || v != field.Value(b) {
			return false
		}
	}
	return true
}

// create adds all records, or returns the errors of which a store returns one.
func (m *model) create(recs []records.Record) (violations []*records.Error) {
	before := maps.Clone(m.records)
	for _, rec := range recs {
		id := rec.Meta().ID
		if m.records[id] != nil {
			violations = append(violations, records.DuplicateID(resourceOf(rec)))
		}
		violations = append(violations, m.violations(rec, "")...)
		m.records[id] = records.Clone(rec)
	}
	if len(violations) > 0 {
		m.records = before
	}
	for _, rec := range recs {
		if id := rec.Meta().ID; m.records[id] == nil {
			m.absent[id] = resourceOf(rec)
		} else {
			delete(m.absent, id)
		}
	}
	return violations
}

// version returns the error for a version that a record does not have.
func (m *model) version(r *records.Resource, id string, version int64) []*records.Error {
	switch rec := m.records[id]; {
	case rec == nil:
		m.absent[id] = r
		return []*records.Error{records.Absent(r)}
	case rec.Meta().Version != version:
		return []*records.Error{records.Outdated(r)}
	}
	return nil
}

func (m *model) update(rec records.Record, version int64) []*records.Error {
	id := rec.Meta().ID
	violations := m.version(resourceOf(rec), id, version)
	if len(violations) == 0 {
		violations = m.violations(rec, id)
	}
	if len(violations) == 0 {
		m.records[id] = records.Clone(rec)
	}
	return violations
}

func (m *model) remove(r *records.Resource, id string, version int64) []*records.Error {
	violations := m.version(r, id, version)
	if len(violations) > 0 {
		return violations
	}
	before, absent, released := maps.Clone(m.records), maps.Clone(m.absent), maps.Clone(m.released)
	m.drop(id)
	for other := range m.released { // without the reference it may have the key of another record
		if rec := m.records[other]; rec != nil {
			violations = append(violations, m.violations(rec, other)...)
		}
	}
	if len(violations) > 0 {
		m.records, m.absent, m.released = before, absent, released
	}
	return violations
}

// drop deletes a record, deletes or changes those that refer to it, and notes what it has
// changed.
func (m *model) drop(id string) {
	m.absent[id] = resourceOf(m.records[id])
	delete(m.records, id)
	delete(m.released, id)
	for other, rec := range m.records {
		for _, field := range references[resourceOf(rec)] {
			switch {
			case field.Value(rec) != id || m.records[other] == nil:
			case field.Ref.Cascade:
				m.drop(other)
			default:
				rec = records.Clone(rec) // remove may need the old one
				field.Set(rec, nil)
				m.records[other], m.released[other] = rec, true
			}
		}
	}
}

// checkRandomTransactions makes random calls on a few ids, and rolls back one of four
// transactions.
func checkRandomTransactions(f *fixture) {
	rounds := 140
	if f.brief {
		rounds = 40
	}
	for range rounds {
		calls, m := []call{}, f.model.clone()
		for range 1 + f.IntN(6) {
			calls = append(calls, f.randomCall(m))
			last(calls).model(m)
		}
		f.transaction(pick(f.Rand, []error{nil, nil, nil, errRollback}), calls...)
		r := pick(f.Rand, f.resources)
		q := &records.Query{Resource: r, Count: true}
		if lister, ok := f.store.(records.LatestLister); ok {
			f.latest(lister, f.model, records.Of[inventory.Metric](schema))
		}
		if field := pick(f.Rand, r.Fields()); field.Scalar() && len(f.model.of(r)) > 0 {
			q.Filters = []records.Filter{{Field: field, Value: field.Value(f.any(r))}}
		}
		f.agrees(q)
	}
}

// randomCall returns a call on a record with one of a few ids, keys and references.
func (f *fixture) randomCall(m *model) (c call) {
	n := func() int { return 1 + f.IntN(5) }
	r := pick(f.Rand, f.resources)
	rec := full(r, n())
	key := id(r, n())
	have := m.records[key]
	for _, field := range r.Fields() {
		switch {
		case field.Ref != nil && have != nil && f.IntN(2) == 0: // so that others do not always prevent a change
			field.Set(rec, field.Value(have))
		case field.Ref != nil:
			to, _ := schema.Named(field.Ref.To)
			field.Set(rec, id(to, n()))
		case optional(field) && f.IntN(3) == 0:
			field.Set(rec, nil)
		}
	}
	version := int64(1 + f.IntN(2))
	rec.Meta().ID = key
	for _, field := range r.Fields() {
		if field.Ref != nil && field.Value(rec) == rec.Meta().ID {
			field.Set(rec, nil) // no record refers to itself
		}
	}
	if have != nil && f.IntN(4) > 0 {
		version = have.Meta().Version
	}
	switch {
	case resourceOf(rec).Check(rec) != nil:
		return f.randomCall(m)
	case f.IntN(5) < 2:
		c = create(rec)
	case f.IntN(3) < 2:
		c = replace(at(rec, version+1), version)
	default:
		c = remove(at(rec, version))
	}
	c.wants = either
	return c
}
