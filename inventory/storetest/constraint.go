package storetest

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
)

// spare is the number of a record that no world has.
const spare = 9

func constraintCases() []Case {
	return []Case{
		{"constraint/ids", "two records with one id can't be told apart", checkIDs, false},
		{"constraint/keys", "a key that two records have is none (reference 1.4)", checkKeys, false},
		{"constraint/keys of several at once", "the records of one call are no better than others", checkKeysAtOnce, false},
		{"constraint/half a key", "a key with a part that has no value is none, and one with another part is another", checkHalfKeys, false},
		{"constraint/keys byte by byte", "texts are compared as they are, or two databases disagree", checkKeyBytes, false},
		{"constraint/keys set free", "a key that no record has any more may be given again", checkKeysFreed, false},
		{"constraint/references", "a record must not refer to what is not there", checkReferences, false},
		{"constraint/versions", "a change of an old version would undo what somebody else has done", checkVersions, false},
		{"constraint/goes on", "the other items of a bulk call are tried too, in the same transaction", checkGoesOn, false},
	}
}

// another is a record that no world has, with an id of its own.
func another(r *inventory.Resource) inventory.Record { return full(r, spare) }

// taking is a record with the values that another one has for some fields.
func taking(rec, from inventory.Record, fields ...string) inventory.Record {
	r := inventory.ResourceOf(rec)
	for _, name := range fields {
		f, _ := r.Field(name)
		f.Set(rec, f.Value(from))
	}
	return rec
}

func checkIDs(p *probe) {
	all := p.world()
	for _, r := range inventory.StoredResources() {
		if r.Kind() == "link" {
			continue // whose key would be taken as well
		}
		twice := another(r)
		twice.Meta().ID = id(r, 1)
		refused("create with an id that is taken", p.tryCreate(twice), inventory.DuplicateID(r))
	}
	p.has(all...)
}

func checkKeys(p *probe) {
	all := p.world()
	for _, r := range inventory.StoredResources() {
		for _, key := range r.Uniques() {
			want := inventory.Duplicate(r, key)
			rec := taking(another(r), full(r, 1), key.Fields...)
			refused("create "+r.Kind()+" with a key that is taken", p.tryCreate(rec), want)
			p.hasNot(rec)
			rec = again(taking(full(r, 2), full(r, 1), key.Fields...), 2)
			refused("update "+r.Kind()+" with a key that is taken", p.tryUpdate(rec, 1), want)
		}
	}
	p.has(all...)
	for _, r := range inventory.StoredResources() {
		p.update(again(full(r, 1), 2)) // its own keys are not taken
	}
}

func checkKeysAtOnce(p *probe) {
	p.world()
	for _, r := range inventory.StoredResources() {
		for _, key := range r.Uniques() {
			if r.Kind() == "link" {
				continue // there are no two ends left
			}
			first := another(r)
			second := taking(full(r, spare+1), first, key.Fields...)
			refused("create two "+r.Name()+" with one key", p.tryCreate(first, second), inventory.Duplicate(r, key))
			p.hasNot(first, second)
		}
		p.holds(r, generationOf(r)...)
	}
}

// optional reports whether a field may have no value.
func optional(f *inventory.Field) bool {
	return !f.Required && f.Default == "" && (f.Nullable || f.Kind == inventory.Text && len(f.Enum) == 0)
}

func checkHalfKeys(p *probe) {
	p.world()
	for _, r := range inventory.StoredResources() {
		for _, key := range r.Uniques() {
			for _, name := range key.Fields {
				f, _ := r.Field(name)
				if f.Ref == nil && len(key.Fields) > 1 {
					p.sharesPart(r, name)
				}
				if optional(f) {
					p.sharesHalf(r, key, f)
				}
			}
		}
	}
}

// sharesPart has a record with a part of a key that another one has.
func (p *probe) sharesPart(r *inventory.Resource, part string) {
	rec := taking(full(r, spare+1), full(r, 1), part)
	p.create(rec)
	p.has(rec)
	p.remove(rec)
}

// sharesHalf has records that are alike in a key, of which one part has no value.
func (p *probe) sharesHalf(r *inventory.Resource, key inventory.Unique, without *inventory.Field) {
	first := full(r, spare)
	without.Set(first, nil)
	second := taking(full(r, spare+1), first, key.Fields...)
	third := taking(full(r, 1), first, key.Fields...)
	p.create(first, second)
	p.update(again(third, 2))
	p.has(first, second, third)
	p.update(again(full(r, 1), 2+1))
	p.remove(first)
	p.remove(second)
}

func checkKeyBytes(p *probe) {
	p.world()
	for _, r := range inventory.StoredResources() {
		for _, key := range r.Uniques() {
			f, _ := r.Field(key.Fields[len(key.Fields)-1])
			if f.Format != "line" || f.Kind != inventory.Text {
				continue
			}
			var all []inventory.Record
			for i, s := range []string{"a", "A", "a ", " a", "ä", "a\u0308", "Ä", "ss", "ß", "\u00df ", "ı", "i", "I", "０", "0", "00", "\u200b0"} {
				rec := taking(full(r, spare+i), full(r, 1), key.Fields...)
				f.Set(rec, s)
				all = append(all, rec)
			}
			p.create(all...)
			p.has(all...)
			p.removeAll(all)
		}
	}
}

func checkKeysFreed(p *probe) {
	p.world()
	for _, r := range slices.Backward(inventory.StoredResources()) { // nothing refers to the last ones
		if len(r.Uniques()) == 0 {
			continue
		}
		last := full(r, generation)
		p.remove(last)
		p.create(last)
		if r.Kind() == "link" {
			continue
		}
		moved := another(r)
		*moved.Meta() = *again(last, 2).Meta()
		p.update(moved) // which frees its keys
		heir := full(r, generation)
		heir.Meta().ID = id(r, spare)
		p.create(heir)
		p.has(moved, heir)
		p.remove(heir)
		p.update(again(full(r, generation), 1+2)) // and takes them back
	}
}

// absentID is an id that belongs to no record, so that the ends of a link stay in their
// order: the first end has the lower id.
func absentID(to *inventory.Resource, seen map[string]bool) string {
	if seen[to.Name()] {
		return id(to, 99)
	}
	seen[to.Name()] = true
	return id(to, 0)
}

func checkReferences(p *probe) {
	all := p.world()
	for _, r := range inventory.StoredResources() {
		seen := map[string]bool{}
		for _, f := range r.Fields() {
			if f.Ref == nil {
				continue
			}
			to, _ := inventory.Named(f.Ref.To)
			absent := absentID(to, seen)
			rec := another(r)
			f.Set(rec, absent)
			refused("create "+r.Kind()+" whose "+f.Name+" is not there", p.tryCreate(rec), inventory.Dangling(r, f))
			p.hasNot(rec)
			rec = again(full(r, 1), 2)
			f.Set(rec, absent)
			refused("update "+r.Kind()+" whose "+f.Name+" is not there", p.tryUpdate(rec, 1), inventory.Dangling(r, f))
			p.has(full(r, 1))
		}
	}
	p.has(all...)
}

func checkVersions(p *probe) {
	p.world()
	for _, r := range inventory.StoredResources() {
		p.update(again(full(r, 1), 2))
		for _, v := range []int64{0, 1, 1 + 2, 1 << 40} {
			refused("update of another version", p.tryUpdate(again(full(r, 1), v+1), v), inventory.Outdated(r))
			refused("delete of another version", p.tryRemove(full(r, 1), v), inventory.Outdated(r))
		}
		p.has(again(full(r, 1), 2))
		p.update(again(full(r, 1), 2+1))
		p.has(again(full(r, 1), 2+1))
	}
}

func checkGoesOn(p *probe) {
	all := p.world()
	var added []inventory.Record
	p.change("a transaction with calls that are refused", func(tx inventory.Tx) error {
		added = nil
		for _, r := range inventory.StoredResources() {
			if r.Kind() == "link" {
				continue
			}
			good := another(r)
			p.refusals(tx, r, good)
			if err := tx.Create(p.ctx, good); err != nil {
				return err
			}
			added = append(added, good)
			p.refusals(tx, r, full(r, spare+1))
		}
		return nil
	})
	p.has(all...)
	p.has(added...)
	for _, r := range inventory.StoredResources() {
		if r.Kind() != "link" {
			p.holds(r, append(generationOf(r), another(r))...)
		}
	}
}

// refusals makes all calls that are refused, some together with a record that is good.
func (p *probe) refusals(tx inventory.Tx, r *inventory.Resource, good inventory.Record) {
	twice := full(r, spare+2)
	twice.Meta().ID = id(r, 1)
	refused("create with an id that is taken", tx.Create(p.ctx, good, twice), inventory.DuplicateID(r))
	for _, key := range r.Uniques() {
		same := taking(full(r, spare+2), full(r, 1), key.Fields...)
		refused("create with a key that is taken", tx.Create(p.ctx, good, same), inventory.Duplicate(r, key))
		same = again(taking(full(r, 2), full(r, 1), key.Fields...), 2)
		refused("update with a key that is taken", tx.Update(p.ctx, same, 1), inventory.Duplicate(r, key))
	}
	for _, f := range r.Fields() {
		if f.Ref == nil {
			continue
		}
		to, _ := inventory.Named(f.Ref.To)
		rec := full(r, spare+2)
		f.Set(rec, id(to, 99))
		refused("create with a reference to nothing", tx.Create(p.ctx, good, rec), inventory.Dangling(r, f))
	}
	other := full(r, spare+2)
	refused("update of what is not there", tx.Update(p.ctx, other, 1), inventory.Absent(r))
	refused("delete of what is not there", tx.Delete(p.ctx, r, other.Meta().ID, 1), inventory.Absent(r))
	refused("update of an old version", tx.Update(p.ctx, again(full(r, 1), 1), 0), inventory.Outdated(r))
	refused("delete of an old version", tx.Delete(p.ctx, r, id(r, 1), 0), inventory.Outdated(r))
	for _, rec := range []inventory.Record{other, good} {
		_, err := tx.Get(p.ctx, r, rec.Meta().ID)
		refused("get of what was not created", err, inventory.Absent(r))
	}
}
