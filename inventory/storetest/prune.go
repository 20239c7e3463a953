package storetest

import (
	"context"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

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
