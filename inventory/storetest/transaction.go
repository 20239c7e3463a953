package storetest

import (
	"bytes"
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func referenceCases() []Case {
	return []Case{
		{"reference/cascade", "a record is deleted with the one it belongs to, and not with one that it mentions (REFERENCE.md, 1.4)", checkCascades, false},
		{"reference/effects", "the audit log has an entry for each record that a deletion deletes or changes (REFERENCE.md, 4)", checkEffects, false},
		{"reference/within a transaction", "a deletion that is rolled back must not have deleted anything else", checkCascadeRollback, false},
		{"reference/new version", "a client that holds a record from before must learn that it has changed", checkReleased, false},
		{"reference/keys without their part", "two VLANs that lose their locations must not become duplicates", checkReleasedKeys, false},
		{"reference/many", "a location may have any number of devices", func(f *fixture) {
			location := full(records.Of[inventory.Location](schema), 1)
			all := []records.Record{location}
			for n := range 120 {
				d := alone(records.Of[inventory.Device](schema), n).(*inventory.Device)
				d.LocationID = &location.Meta().ID
				all = append(all, d)
			}
			f.apply(create(all...))
			f.apply(remove(location))
		}, false},
	}
}

func checkCascades(f *fixture) {
	for _, r := range f.some(stored) {
		f.apply(create(f.samples()...), remove(full(r, 1)))
		f.verify(f.store, f.model)
		f.empty()
	}
}

// checkEffects deletes each kind of sample, in transactions that are rolled back, and compares what
// the store reports with what has changed. More devices than one Effect may have refer to one
// location.
func checkEffects(f *fixture) {
	f.apply(create(f.samples()...))
	for i := range 2 {
		var more []records.Record
		for n := range records.EffectSize/2 + 3 {
			d := full(records.Of[inventory.Device](schema), spare+i*records.EffectSize+n).(*inventory.Device)
			d.LocationID = new(id(records.Of[inventory.Location](schema), 1))
			more = append(more, d)
		}
		f.apply(create(more...))
	}
	for _, r := range f.some(stored) {
		deleted, c := id(r, 1), remove(full(r, 1))
		reported := map[string]bool{}
		c.store = func(ctx context.Context, tx records.Tx) error {
			clear(reported)
			return tx.Delete(ctx, r, deleted, 1, func(e *records.Effect) error { f.model.report(e, reported); return nil })
		}
		var after *model
		err := f.store.Change(f.ctx, func(tx records.Tx) error {
			after = f.model.clone()
			f.calls(tx, after, []call{c})
			return errRollback
		})
		f.ended(err, errRollback, nil)
		f.reportedAll(deleted, after, reported)
	}
}

// reportedAll requires that a deletion has reported what differs from a model after it.
func (f *fixture) reportedAll(deleted string, after *model, reported map[string]bool) {
	for other, before := range f.model.records {
		of, rec := resourceOf(before), after.records[other]
		if of.Unaudited || other == deleted {
			continue
		}
		for _, field := range of.Fields() {
			lost := rec == nil
			if rec != nil {
				lost = field.Ref != nil && field.Value(before) != nil && field.Value(rec) == nil
			}
			if key := effectKey(before, field, rec == nil); lost != reported[key] {
				fail("delete %s: reported %q: %t; want %t", names(f.model.records[deleted]), key, reported[key], lost)
			}
		}
	}
}

// effectKey names what happens to a record. A deletion has no field.
func effectKey(rec records.Record, field *records.Field, deleted bool) string {
	if deleted {
		return "delete " + names(rec)
	}
	return "clear " + field.Name + field.Column + " of " + names(rec)
}

// report adds the records of an effect on the model to what was reported.
func (m *model) report(e *records.Effect, reported map[string]bool) {
	if e.Resource.Unaudited && len(e.Before) == 0 {
		return
	}
	if e.Count != int64(len(e.Before)) || e.Count > records.EffectSize {
		fail("an effect has the count %d and %d records of at most %d", e.Count, len(e.Before), records.EffectSize)
	}
	for _, rec := range e.Before {
		key := effectKey(rec, e.Cleared, e.Cleared == nil)
		if reported[key] {
			fail("reported twice: %s", key)
		}
		reported[key] = true
		want := m.records[rec.Meta().ID]
		if want == nil || e.Cleared != nil && e.Cleared.Value(rec) != e.Cleared.Value(want) {
			fail("reported %s, which is %s", key, text(rec))
		}
		if e.Cleared == nil {
			same("report a deletion", rec, want)
		}
	}
}

func checkCascadeRollback(f *fixture) {
	f.apply(create(f.samples()...))
	for _, r := range f.some(stored) {
		calls := []call{remove(full(r, 1))}
		after := f.model.clone()
		after.drop(id(r, 1))
		for gone := range after.absent {
			calls = append(calls, refuse(remove(f.model.records[gone]))...)
		}
		f.transaction(errRollback, calls...)
		f.verify(f.store, f.model)
	}
}

func checkReleased(f *fixture) {
	f.apply(create(f.samples()...), remove(full(records.Of[inventory.Location](schema), 1)))
	released := 0
	for _, before := range f.samples() {
		rec := f.model.records[before.Meta().ID]
		if rec == nil || rec.Meta().Version == 1 {
			continue
		}
		released++
		f.apply(refuse(remove(before), replace(at(records.Clone(before), 2), 1))...)
		f.apply(update(at(records.Clone(rec), rec.Meta().Version+1)))
	}
	if released == 0 {
		panic("storetest: no sample refers to location 1")
	}
}

func checkReleasedKeys(f *fixture) {
	f.apply(create(f.samples()...))
	for n := range samples {
		v := full(records.Of[inventory.VLAN](schema), n+1).(*inventory.VLAN)
		v.VLANID = 100
		f.apply(update(at(v, 2)))
	}
	f.apply(removeAll(samplesOf(records.Of[inventory.Location](schema))...)...)
}

func transactionCases() []Case {
	return []Case{
		{"transaction/sees itself", "a change depends on what the transaction has already done", func(f *fixture) {
			f.apply(create(f.samples()...))
			f.transaction(nil, changes()...)
		}, false},
		{"transaction/rolled back after an error", "a change whose audit entry failed must not happen", func(f *fixture) {
			f.apply(create(f.samples()...))
			f.transaction(errRollback, changes()...)
			f.verify(f.store, f.model)
			f.apply(changes()...)
		}, false},
		{"transaction/rolled back after a panic", "a defect of a program must not leave half a change", checkPanic, false},
		{"transaction/keeps its error", "the kind of an error decides the response to a client", func(f *fixture) {
			for _, want := range []*records.Error{
				records.Absent(records.Of[inventory.Device](schema)), records.PermissionDenied(),
				{Kind: records.Invalid, Message: "mine", Fields: []records.FieldError{{Field: "a", Reason: "b"}}},
			} {
				refused("a transaction that returns an *Error", f.store.Change(f.ctx, func(records.Tx) error { return want }), want)
			}
		}, false},
		{"transaction/prune", "a log keeps what its retention says (REFERENCE.md, 2.10)", checkPrune, false},
		{"transaction/prune audit", "a pruned audit log can be verified from its anchor on (REFERENCE.md, 4)", checkPruneAudit, false},
		{"transaction/audit chain", "a change feed must have each entry once, in the order of commits (REFERENCE.md, 4)", checkChain, false},
		{"transaction/hidden until it ends", "nobody may see a change that may be rolled back", checkNoDirtyReads, false},
	}
}

// changes returns calls of each kind for a store with the samples.
func changes() []call {
	locations, devices := records.Of[inventory.Location](schema), records.Of[inventory.Device](schema)
	return append(removeAll(samplesOf(records.Of[inventory.Secret](schema))...), // so that none is left
		create(full(devices, spare)), // at location 1
		update(at(minimal(devices, 2), 2)),
		remove(full(locations, 1)),
	)
}

func checkPanic(f *fixture) {
	f.apply(create(f.samples()...))
	func() {
		defer func() {
			if r := recover(); r != any(errRollback) {
				panic(r)
			}
		}()
		err := f.store.Change(f.ctx, func(tx records.Tx) error {
			f.calls(tx, f.model.clone(), changes())
			panic(errRollback)
		})
		fail("a transaction that panics returns %v", err)
	}()
	clear(f.got) // to read what was changed again
	f.verify(f.store, f.model)
	f.apply(changes()...)
}

// checkNoDirtyReads reads while a transaction is open that will be rolled back. Readers may
// have to wait for the transaction, so the transaction does not wait for them.
func checkNoDirtyReads(f *fixture) {
	const timeout = 20 * time.Millisecond
	f.apply(create(f.samples()...))
	read := make(chan error, 1)
	err := f.store.Change(f.ctx, func(tx records.Tx) error {
		f.calls(tx, f.model.clone(), changes())
		go func() { read <- failureOf(func() { f.verify(f.store, f.model) }) }()
		select {
		case err := <-read:
			read <- err
		case <-time.After(timeout):
		}
		return errRollback
	})
	readErr := <-read
	f.ended(err, errRollback, nil)
	must("read what is not committed", readErr)
	f.verify(f.store, f.model)
	f.apply(changes()...)
}

// checkChain adds entries of the audit log in several transactions, of which some are rolled back,
// and requires positions without gaps and hashes of what is before.
func checkChain(f *fixture) {
	chain, ok := f.store.(records.AuditChain)
	if !ok {
		return
	}
	at, err := chain.AuditHead(f.ctx)
	must("read the end of the audit log", err)
	r := records.Of[records.AuditLog](schema)
	f.apply(create(full(records.Of[inventory.User](schema), 1), full(records.Of[inventory.User](schema), 2)))
	entry := func(n int) records.Record { return full(r, n) }
	f.transaction(nil, create(entry(3), entry(2)), create(entry(1)))
	f.transaction(errRollback, create(entry(4)))
	f.transaction(nil, append(refuse(create(entry(5), entry(1))), create(entry(6)))...)
	var many []records.Record
	for n := range 300 {
		many = append(many, entry(10+n))
	}
	f.apply(create(many...))
	page, err := chain.AuditAfter(f.ctx, at.Seq, 1000)
	must("read the audit log", err)
	want := append([]records.Record{entry(3), entry(2), entry(1), entry(6)}, many...)
	if len(page) != len(want) {
		fail("the audit log has %d new entries; want %d", len(page), len(want))
	}
	for i, e := range page {
		at = at.Next(e.Digest)
		if e.Entry == nil || e.Entry.ID != want[i].Meta().ID || e.Seq != at.Seq || !bytes.Equal(e.Hash, at.Hash) {
			fail("entry %d of the audit log is %+v; want %s at %+v", i, e, names(want[i]), at)
		}
	}
	if head, err := chain.AuditHead(f.ctx); err != nil || head.Seq != at.Seq || !bytes.Equal(head.Hash, at.Hash) {
		fail("the end of the audit log is %+v (%v); want %+v", head, err, at)
	}
	if page, err := chain.AuditAfter(f.ctx, at.Seq-2, 1); err != nil || len(page) != 1 || page[0].Seq != at.Seq-1 {
		fail("the entry before the last one is %+v (%v)", page, err)
	}
}

// checkPrune deletes the oldest events by age, by number, and by both.
func checkPrune(f *fixture) {
	events := records.Of[inventory.Event](schema)
	var all []records.Record
	for n := range 12 {
		all = append(all, alone(events, n))
	}
	// oldest deletes the first n: the first call all of them, the other ones nothing.
	oldest := func(o records.Oldest, n int) []call {
		calls := removeAll(all[:n]...)
		last := all[n-1].Meta().ID
		for i := range calls {
			one := calls[i].store
			calls[i].store = func(ctx context.Context, tx records.Tx) error {
				of, ok := tx.(records.Pruner)
				if !ok {
					return one(ctx, tx)
				}
				if i > 0 {
					return nil
				}
				deleted, at, err := of.Prune(ctx, events, o)
				if err == nil && (deleted != int64(n) || at != last) {
					fail("prune %+v: %d events up to %s; want %d up to %s", o, deleted, at, n, last)
				}
				return err
			}
		}
		return calls
	}
	f.apply(create(all...))
	f.transaction(errRollback, oldest(records.Oldest{Keep: 8, Limit: 100}, 4)...)
	f.transaction(nil, oldest(records.Oldest{Keep: 1, Limit: 2}, 2)...)
	all = all[2:]
	f.transaction(nil, oldest(records.Oldest{Before: all[3].Meta().CreatedAt, Limit: 100}, 3)...)
	all = all[3:]
	f.transaction(nil, oldest(records.Oldest{Before: all[1].Meta().CreatedAt, Keep: 5, Limit: 100}, 2)...)
	all = all[2:]
	must("prune nothing", f.store.Change(f.ctx, func(tx records.Tx) error {
		of, ok := tx.(records.Pruner)
		if !ok {
			return nil
		}
		for _, o := range []records.Oldest{
			{Keep: 5, Limit: 100}, {Before: all[0].Meta().CreatedAt, Limit: 100}, {Keep: 1, Limit: 100, After: all[4].Meta().ID},
		} {
			if n, last, err := of.Prune(f.ctx, events, o); n != 0 || last != "" || err != nil {
				fail("prune %+v of 5 events: %d up to %q, %v; want none", o, n, last, err)
			}
		}
		return nil
	}))
}

// checkPruneAudit deletes the first entries of the audit log, and requires that the positions and
// hashes of the others stay, also after a rollback.
func checkPruneAudit(f *fixture) {
	chain, ok := f.store.(records.AuditChain)
	if !ok {
		return
	}
	logs := records.Of[records.AuditLog](schema)
	before, err := chain.AuditHead(f.ctx)
	must("read the end of the audit log", err)
	for n := range 6 {
		f.apply(create(full(logs, 700_000+n))) // other cases have left positions of entries with lower numbers
	}
	page, err := chain.AuditAfter(f.ctx, before.Seq, 10)
	must("read the audit log", err)
	prune := func(at int, end error) (anchored bool, deleted int64) {
		err := f.store.Change(f.ctx, func(tx records.Tx) error {
			of, ok := tx.(records.AuditPruner)
			if !ok {
				return nil
			}
			anchor := &records.AuditAnchor{AuditPosition: page[at].AuditPosition, Actor: "jane", At: moment(1)}
			var err error
			if anchored, err = of.AnchorAudit(f.ctx, anchor); err != nil {
				return err
			}
			if deleted, _, err = of.PruneAudit(f.ctx, 0, int(page[at].Seq)); err != nil {
				return err
			}
			return end
		})
		if err != end { // it is returned as it is
			must("prune the audit log", err)
		}
		f.reload()
		return anchored, deleted
	}
	if anchored, _ := prune(3, errRollback); !anchored {
		return // it can't be pruned
	}
	for _, c := range []struct {
		at       int
		anchored bool
		kept     int
	}{{2, true, 3}, {1, false, 3}, {2, false, 3}, {3, true, 2}} {
		if anchored, _ := prune(c.at, nil); anchored != c.anchored {
			fail("prune to %d: anchored %t; want %t", page[c.at].Seq, anchored, c.anchored)
		}
		rest, err := chain.AuditAfter(f.ctx, 0, 10)
		must("read the audit log", err)
		if len(rest) != c.kept || rest[0].Seq != page[6-c.kept].Seq || rest[0].Entry == nil || string(rest[0].Hash) != string(page[6-c.kept].Hash) {
			fail("after a pruning to %d the audit log has %d entries and begins with %+v", page[c.at].Seq, len(rest), rest)
		}
		if n := len(f.model.of(logs)); n != c.kept {
			fail("after a pruning to %d there are %d entries; want %d", page[c.at].Seq, n, c.kept)
		}
	}
	anchors, err := chain.AuditAnchors(f.ctx)
	must("read the anchors of the audit log", err)
	if last := anchors[len(anchors)-1]; last.Seq != page[3].Seq || last.Pruned != 1 || last.Actor != "jane" || !last.At.Equal(moment(1)) {
		fail("the last anchor is %+v", last)
	}
}
