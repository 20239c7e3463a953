package storetest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
)

func modelCases() []Case {
	return []Case{{
		"model/random transactions",
		"what a store does after any calls must be what the simplest store would do",
		checkModel,
		false,
	}}
}

const (
	modelTransactions = 100
	modelIDs          = 5 // of each resource
)

// model is a store that is too simple to be wrong: records that are looked through.
type model struct {
	records map[string]inventory.Record // by id, which are not changed
}

func (m *model) clone() *model { return &model{maps.Clone(m.records)} }

// of are the records of a resource.
func (m *model) of(r *inventory.Resource) (all []inventory.Record) {
	for _, rec := range m.records {
		if inventory.ResourceOf(rec) == r {
			all = append(all, rec)
		}
	}
	return all
}

// wrong are the errors that a record may be refused with, next to all others but one, in
// whose place it may come.
func (m *model) wrong(rec inventory.Record, but string) (all []*inventory.Error) {
	r := inventory.ResourceOf(rec)
	for _, key := range r.Uniques() {
		for _, other := range m.of(r) {
			if other.Meta().ID != but && sameKey(r, key, rec, other) {
				all = append(all, inventory.Duplicate(r, key))
			}
		}
	}
	for _, f := range r.Fields() {
		if f.Ref == nil {
			continue
		}
		if to, ok := f.Value(rec).(string); ok && m.records[to] == nil {
			all = append(all, inventory.Dangling(r, f))
		}
	}
	return all
}

func sameKey(r *inventory.Resource, key inventory.Unique, a, b inventory.Record) bool {
	for _, name := range key.Fields {
		f, _ := r.Field(name)
		if v := f.Value(a); v == nil || v != f.Value(b) {
			return false
		}
	}
	return true
}

// create are the errors of which there must be one; with none, the record is there.
func (m *model) create(rec inventory.Record) []*inventory.Error {
	wrong := m.wrong(rec, "")
	if m.records[rec.Meta().ID] != nil {
		wrong = append(wrong, inventory.DuplicateID(inventory.ResourceOf(rec)))
	}
	if len(wrong) == 0 {
		m.records[rec.Meta().ID] = rec
	}
	return wrong
}

// version is the error for a version that a record does not have.
func (m *model) version(r *inventory.Resource, id string, version int64) []*inventory.Error {
	switch rec := m.records[id]; {
	case rec == nil:
		return []*inventory.Error{inventory.Absent(r)}
	case rec.Meta().Version != version:
		return []*inventory.Error{inventory.Outdated(r)}
	}
	return nil
}

func (m *model) update(rec inventory.Record, version int64) []*inventory.Error {
	wrong := m.version(inventory.ResourceOf(rec), rec.Meta().ID, version)
	if len(wrong) == 0 {
		wrong = m.wrong(rec, rec.Meta().ID)
	}
	if len(wrong) == 0 {
		m.records[rec.Meta().ID] = rec
	}
	return wrong
}

// remove also returns the records whose versions the store decides on.
func (m *model) remove(r *inventory.Resource, id string, version int64) ([]*inventory.Error, []inventory.Record) {
	if wrong := m.version(r, id, version); len(wrong) > 0 {
		return wrong, nil
	}
	var all []inventory.Record
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		all = append(all, inventory.Clone(m.records[id]))
	}
	o := &outcome{left: all, released: map[inventory.Record]bool{}}
	o.drop(id)
	clear(m.records)
	for _, rec := range o.left {
		m.records[rec.Meta().ID] = rec
	}
	return nil, slices.Collect(maps.Keys(o.released))
}

// generator makes random calls on a store and its model.
type generator struct {
	*rand.Rand
	p *probe
}

func checkModel(p *probe) {
	g := &generator{rand.New(rand.NewPCG(3, 4)), p}
	m := &model{map[string]inventory.Record{}}
	for range modelTransactions {
		m = g.transaction(m)
		g.compare(m)
	}
	for _, r := range inventory.StoredResources() {
		page := (&inventory.Query{Resource: r}).Select(m.of(r))
		p.holds(r, page.Records...)
	}
}

// transaction makes some calls, and returns the model as it is then. The same calls are
// made if the store asks for that.
func (g *generator) transaction(before *model) *model {
	seed, undone := g.Uint64(), g.IntN(4) == 0
	var after *model
	err := g.p.store.Change(g.p.ctx, func(tx inventory.Tx) error {
		after = before.clone()
		again := &generator{rand.New(rand.NewPCG(seed, 5)), g.p}
		for range 1 + again.IntN(6) {
			again.call(tx, after)
		}
		if undone {
			return errOwn
		}
		return nil
	})
	switch {
	case undone && !errors.Is(err, errOwn):
		fail("the error of a transaction is %w; want its own", err)
	case undone:
		return before
	}
	must("a random transaction", err)
	return after
}

// record is one of a few ids, keys and references.
func (g *generator) record() inventory.Record {
	for {
		r := pick(g.Rand, inventory.StoredResources())
		rec := full(r, 1+g.IntN(modelIDs))
		for _, f := range r.Fields() {
			switch {
			case f.Ref != nil:
				to, _ := inventory.Named(f.Ref.To)
				f.Set(rec, id(to, 1+g.IntN(modelIDs)))
			case optional(f) && g.IntN(3) == 0:
				f.Set(rec, nil)
			}
		}
		rec.Meta().ID, rec.Meta().Version = id(r, 1+g.IntN(modelIDs)), 1
		if inventory.Check(rec) == nil {
			return rec
		}
	}
}

func (g *generator) call(tx inventory.Tx, m *model) {
	rec := g.record()
	r, id, version := inventory.ResourceOf(rec), rec.Meta().ID, int64(1)
	if there := m.records[id]; there != nil && g.IntN(4) > 0 {
		version = there.Meta().Version
	}
	switch g.IntN(5) {
	case 0, 1:
		oneOf("a random create", tx.Create(g.p.ctx, rec), m.create(rec))
	case 2, 3:
		oneOf("a random update", tx.Update(g.p.ctx, again(rec, version+1), version), m.update(rec, version))
	default:
		wrong, released := m.remove(r, id, version)
		oneOf("a random delete", tx.Delete(g.p.ctx, r, id, version), wrong)
		for _, rec := range released {
			now, err := tx.Get(g.p.ctx, inventory.ResourceOf(rec), rec.Meta().ID)
			must("get what has lost a reference", err)
			rec.Meta().Version, rec.Meta().UpdatedAt = now.Meta().Version, now.Meta().UpdatedAt
		}
	}
}

// oneOf demands one of several errors, or none if there are none.
func oneOf(what string, err error, want []*inventory.Error) {
	if len(want) == 0 {
		must(what, err)
		return
	}
	var failed []error
	for _, e := range want {
		f := failureOf(func() { refused(what, err, e) })
		if f == nil {
			return
		}
		failed = append(failed, f)
	}
	must(what, errors.Join(failed...))
}

// compare asks for a list and its total, with a filter or without.
func (g *generator) compare(m *model) {
	r := pick(g.Rand, inventory.StoredResources())
	q := &inventory.Query{Resource: r, Count: true}
	if f := pick(g.Rand, r.Fields()); f.Scalar() && len(m.of(r)) > 0 {
		if v := f.Value(pick(g.Rand, m.of(r))); v != nil {
			q.Filters = []inventory.Filter{{Field: f, Value: v}}
		}
	}
	g.p.agrees(q, m.of(r))
}
