package storetest

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func constraintCases() []Case {
	return []Case{
		{"constraint/ids", "two records with one id can't be distinguished", each(duplicateIDs), false},
		{"constraint/keys", "a key that two records have identifies neither (REFERENCE.md, 1.3)", each(duplicateKeys), false},
		{"constraint/keys of several at once", "keys are unique among the records of one call too", each(duplicatesInOneCall), false},
		{"constraint/keys without a reference", "only their hostnames distinguish devices without a location (REFERENCE.md, 1.3)", checkKeysWithout, false},
		{"constraint/half a key", "a key with a part that has no value is no key, and one with another part is another key", checkHalfKeys, false},
		{"constraint/keys byte by byte", "strings are compared unchanged, or two databases disagree", checkKeyBytes, false},
		{"constraint/keys set free", "a key that no record has any more may be used again", checkFreedKeys, false},
		{"constraint/references", "a record must not refer to one that does not exist (REFERENCE.md, 1.4)", each(dangling), false},
		{"constraint/versions", "a change of an old version would undo somebody else's (REFERENCE.md, 1.5)", each(outdated), false},
		{"constraint/goes on", "after an item of a bulk call is refused, the others are tried in the same transaction", checkGoesOn, false},
	}
}

// spare is the number of a record that is not a sample.
const spare = 9

// each returns a case that makes calls for each resource, or for some, in a store with the samples.
func each(calls func(r *records.Resource) []call) func(f *fixture) {
	return func(f *fixture) {
		f.apply(create(f.samples()...))
		for _, r := range f.some(stored) {
			f.apply(calls(r)...)
		}
	}
}

func duplicateIDs(r *records.Resource) []call {
	rec := full(r, spare)
	rec.Meta().ID = id(r, 1)
	return refuse(create(rec), create(full(r, spare+1), rec))
}

func duplicateKeys(r *records.Resource) (calls []call) {
	for _, key := range keysOf(r) {
		created, updated := taking(full(r, spare), full(r, 1), key.Fields...), taking(full(r, 2), full(r, 1), key.Fields...)
		calls = append(calls, refuse(create(created), create(full(r, spare+1), created), update(at(updated, 2)))...)
	}
	return append(calls, update(at(full(r, 3), 2))) // a record's own keys are no duplicates
}

func duplicatesInOneCall(r *records.Resource) (calls []call) {
	for _, key := range keysOf(r) {
		calls = append(calls, create(full(r, spare), taking(full(r, spare+1), full(r, spare), key.Fields...)))
	}
	return refuse(calls...)
}

// keysOf returns the keys that do not depend on a missing value: see checkKeysWithout.
func keysOf(r *records.Resource) []records.Unique {
	return slices.DeleteFunc(r.Uniques(), func(u records.Unique) bool { return u.Without != "" })
}

// checkKeysWithout checks the key that only records without a value in another field have, such as a reference, also when
// they lose the reference because the record that it refers to is deleted.
func checkKeysWithout(f *fixture) {
	for _, r := range schema.StoredResources() {
		for _, key := range r.Uniques() {
			field, ok := r.Field(key.Without)
			if !ok {
				continue
			}
			f.apply(create(f.samples()...))
			free := func(n int) records.Record {
				rec := taking(full(r, n), full(r, 1), key.Fields...)
				field.Set(rec, nil)
				return rec
			}
			if field.Ref == nil {
				f.apply(create(free(spare)), create(taking(full(r, spare+2), full(r, 1), key.Fields...)))
				f.apply(refuse(create(free(spare+1)), update(at(free(2), 2)))...)
				f.verify(f.store, f.model)
				f.empty()
				continue
			}
			elsewhere := taking(full(r, spare+2), full(r, 1), append(slices.Clone(key.Fields), key.Without)...)
			to, _ := schema.Named(field.Ref.To)
			site := full(to, spare)
			field.Set(elsewhere, site.Meta().ID)
			f.apply(create(site), create(free(spare), elsewhere))
			f.apply(refuse(create(free(spare+1)), update(at(free(2), 2)), remove(site))...)
			f.transaction(nil, refuse(remove(site))[0], remove(full(to, 2)), refuse(create(free(spare + 1)))[0])
			f.verify(f.store, f.model)
			f.apply(remove(free(spare)), remove(site), refuse(create(free(spare + 1)))[0])
			f.verify(f.store, f.model)
			f.empty()
		}
	}
}

func dangling(r *records.Resource) (calls []call) {
	absent := map[string]int{}
	for _, field := range r.Fields() {
		if field.Ref == nil {
			continue
		}
		to, _ := schema.Named(field.Ref.To)
		created, updated := full(r, spare), at(full(r, 1), 2)
		for _, rec := range []records.Record{created, updated} {
			field.Set(rec, id(to, absent[to.Name]))
		}
		absent[to.Name] = 99 // the first end of a link has the lower id
		calls = append(calls, create(created), create(full(r, spare+1), created), update(updated))
	}
	return refuse(calls...)
}

func outdated(r *records.Resource) (calls []call) {
	for _, v := range []int64{0, 1, 3, 1 << 40} {
		calls = append(calls, replace(at(full(r, 4), v+1), v), remove(at(full(r, 4), v)))
	}
	return slices.Concat([]call{update(at(full(r, 4), 2))}, refuse(calls...), []call{update(at(full(r, 4), 3))})
}

func absent(r *records.Resource) []call {
	return refuse(replace(full(r, spare+2), 1), remove(full(r, spare+2)))
}

// keyOfReferences reports whether a key has references only: the samples have all its values.
func keyOfReferences(r *records.Resource) bool {
	return slices.ContainsFunc(keysOf(r), func(u records.Unique) bool {
		return !slices.ContainsFunc(u.Fields, func(name string) bool { return r.KeyField(name).Ref == nil })
	})
}

func checkGoesOn(f *fixture) {
	f.apply(create(f.samples()...))
	var calls []call
	for _, r := range f.resources {
		calls = slices.Concat(calls, duplicateIDs(r), duplicateKeys(r), absent(r))
		if !keyOfReferences(r) {
			calls = append(calls, create(full(r, spare+3)))
		}
		calls = slices.Concat(calls, dangling(r), outdated(r))
	}
	f.transaction(nil, calls...)
}

// isKey reports whether a field is a unique key by itself.
func isKey(r *records.Resource, name string) bool {
	return slices.ContainsFunc(r.Uniques(), func(u records.Unique) bool { return slices.Equal(u.Fields, []string{name}) })
}

func checkHalfKeys(f *fixture) {
	f.apply(create(f.samples()...))
	for _, r := range f.some(stored) {
		for _, key := range r.Uniques() {
			for _, name := range key.Fields {
				field := r.KeyField(name)
				if field.Ref == nil && len(key.Fields) > 1 && !isKey(r, name) { // another part, and one part in common
					rec := taking(full(r, spare+1), full(r, 1), name)
					f.apply(create(rec), remove(rec))
				}
				if !optional(field) || len(keysOf(r)) < len(r.Uniques()) {
					continue // checkKeysWithout
				}
				first := full(r, spare)
				field.Set(first, nil)
				second, third := taking(full(r, spare+1), first, key.Fields...), taking(full(r, 1), first, key.Fields...)
				version := f.model.records[id(r, 1)].Meta().Version
				f.apply(create(first, second), update(at(third, version+1)))
				f.verify(f.store, f.model)
				f.apply(update(at(full(r, 1), version+2)), remove(first), remove(second))
			}
		}
	}
}

func checkKeyBytes(f *fixture) {
	f.apply(create(f.samples()...))
	for _, r := range f.some(stored) {
		for _, key := range r.Uniques() {
			field := r.KeyField(last(key.Fields))
			if field.Format != "line" || field.Kind != records.Text {
				continue
			}
			var all []records.Record
			for i, s := range []string{"a", "A", "a ", " a", "ä", "a\u0308", "Ä", "ss", "ß", "\u00df ", "ı", "i", "I", "０", "0", "00", "\u200b0"} {
				rec := taking(full(r, spare+i), full(r, 1), key.Fields...)
				for _, name := range key.Fields {
					if len(key.Fields) > 1 && isKey(r, name) {
						r.KeyField(name).Set(rec, nil)
					}
				}
				field.Set(rec, s)
				all = append(all, rec)
			}
			f.apply(create(all...))
			f.verify(f.store, f.model)
			f.apply(removeAll(all...)...)
		}
	}
}

func checkFreedKeys(f *fixture) {
	f.apply(create(f.samples()...), remove(full(records.Of[inventory.Device](schema), 1)))
	f.empty() // also deletes what the device has left
	f.apply(create(f.samples()...))
	for _, r := range slices.Backward(f.some(stored)) { // nothing refers to the last ones
		if keyOfReferences(r) {
			continue
		}
		moved, heir := full(r, spare), full(r, samples)
		base := *at(full(r, samples), 2).Meta()
		base.Extra = moved.Meta().Extra
		*moved.Meta(), heir.Meta().ID = base, id(r, spare)
		f.apply(update(moved), create(heir), remove(heir), update(at(full(r, samples), 3)))
	}
}
