package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

// maxPruned is the maximum number of records that one transaction of [Engine.Prune] deletes.
const maxPruned = 1000

// The transactions of a pruning. Other writers wait for them, many times longer on a busy machine.
const (
	firstPruned = 50 // records
	leastPruned = 10
	pruneTime   = 5 * time.Millisecond
)

// Retention says which records of a resource [Engine.Prune] keeps. At least one of MaxAge and
// MaxRecords is positive.
type Retention struct {
	MaxAge     time.Duration // since their creation; 0 keeps any
	MaxRecords int64         // the newest; 0 keeps any number

	// Limit is the number of records after which a call ends. 0 means none.
	Limit int64
	// Within is the time after which a call begins no further transaction. 0 means none.
	Within time.Duration
}

// Pruned is the result of [Engine.Prune].
type Pruned struct {
	Deleted int64
	More    bool // whether the call ended at Limit or Within: the next one may delete more
}

// Oldest selects the oldest records of a resource, which are those with the lowest ids.
type Oldest struct {
	After  string    // ids after this one; empty is any
	Before time.Time // those created before; zero is none
	Keep   int64     // and those that are not among the newest Keep records; 0 is none
	Limit  int       // of the first Limit records after After
}

// Pruner is implemented by a [Tx] that can delete the oldest records of a resource at once.
type Pruner interface {
	// Prune deletes records of a resource without referrers. It returns how many, and the last
	// of their ids.
	Prune(ctx context.Context, r *Resource, oldest Oldest) (deleted int64, last string, err error)
}

// AuditPruner is implemented by a [Tx] of an [AuditChain] whose audit log can be pruned.
type AuditPruner interface {
	// AnchorAudit replaces the anchors of earlier prunings by a later one. It sets
	// AuditAnchor.Pruned to the number of positions after the last one. It returns false, and
	// changes nothing, if there is one at this position or a later one.
	AnchorAudit(ctx context.Context, anchor *AuditAnchor) (bool, error)
	// PruneAudit deletes up to limit entries up to the last anchor, the first positions first. It
	// returns how many positions it has deleted, and the last one.
	PruneAudit(ctx context.Context, after int64, limit int) (deleted, last int64, err error)
}

// Compactor is implemented by a [Store] that can give the space of deleted records back to its disk.
type Compactor interface {
	// Compact does so for a resource from which records were deleted, if the disk is full. What fails is logged: the records
	// are deleted.
	Compact(ctx context.Context, r *Resource)
}

// Prune deletes the oldest records of a resource in transactions of up to maxPruned records, and
// pauses after each for as long as it took, so that other writers do not wait for long. The order is
// that of ids, or of the positions in the audit log. It ends when no record is left to delete, at
// the limits of keep, or when ctx ends.
//
// An entry of the audit log with the action prune says what a transaction has deleted, if anything;
// the records have none. For the audit log there is one entry, which is written with the first
// deletions, together with the [AuditAnchor] that it signs: a call after a process was killed
// completes the deletions.
//
// In a dry run the preview has the number of records that calls without limits would delete.
func (v *Engine) Prune(ctx context.Context, by Caller, r *Resource, keep Retention) (*Pruned, error) {
	if keep.MaxAge < 0 || keep.MaxRecords < 0 || keep.MaxAge == 0 && keep.MaxRecords == 0 {
		return nil, fmt.Errorf("prune %s: set a maximum age or a maximum number of records", r.Name)
	}
	ctx = Essential(ctx)
	p := &pruning{Engine: v, by: by, r: r, keep: keep, began: time.Now(), size: firstPruned}
	if keep.MaxAge > 0 {
		p.before = storedTime(v.opts.Now().Add(-keep.MaxAge))
	}
	var err error
	switch {
	case v.preview != nil:
		return &Pruned{}, p.dryRun(ctx)
	case r.Name == auditLogs:
		err = p.audit(ctx)
	default:
		err = p.records(ctx)
	}
	if of, ok := v.store.(Compactor); ok && err == nil && p.done.Deleted > 0 {
		of.Compact(ctx, r)
	}
	return &p.done, err
}

// pruning is a call of Engine.Prune.
type pruning struct {
	*Engine
	by     Caller
	r      *Resource
	keep   Retention
	before time.Time // older records go; zero for none
	began  time.Time
	size   int // of the next transaction
	done   Pruned
}

// records prunes a resource other than the audit log.
func (p *pruning) records(ctx context.Context) error {
	last := ""
	return p.batches(ctx, func(tx Tx, limit int) (n int64, end bool, err error) {
		n, at, err := p.delete(ctx, tx, Oldest{last, p.before, p.keep.MaxRecords, limit})
		end, p.done.More = n == 0 || p.reached(n), n > 0
		if err == nil && n > 0 {
			err = p.sign(ctx, tx, n)
		}
		if err == nil {
			last = cmp.Or(at, last)
		}
		return n, end, err
	})
}

// batches runs transactions that delete up to some number of records, until one is the end.
func (p *pruning) batches(ctx context.Context, batch func(tx Tx, limit int) (n int64, end bool, err error)) error {
	for {
		limit := p.size
		if p.keep.Limit > 0 {
			limit = int(min(int64(limit), p.keep.Limit-p.done.Deleted))
		}
		n, end, began := int64(0), false, time.Now()
		err := p.change(ctx, func(tx Tx) (err error) {
			if p.scope(tx, false).only != nil {
				return PermissionDenied()
			}
			n, end, err = batch(tx, limit)
			return err
		})
		if err != nil {
			return err
		}
		p.done.Deleted += n
		if end {
			return nil
		}
		took := time.Since(began)
		switch {
		case took > 2*pruneTime:
			p.size = max(p.size/2, leastPruned)
		case took < pruneTime/2:
			p.size = min(p.size*2, maxPruned)
		}
		if err := backoff.Sleep(ctx, max(took, time.Millisecond)); err != nil {
			return err
		}
	}
}

// reached reports whether the call ends after n more records.
func (p *pruning) reached(n int64) bool {
	return p.keep.Limit > 0 && p.done.Deleted+n >= p.keep.Limit || p.keep.Within > 0 && time.Since(p.began) >= p.keep.Within
}

// delete deletes some of the oldest records.
func (p *pruning) delete(ctx context.Context, tx Tx, oldest Oldest) (deleted int64, last string, err error) {
	if of, ok := tx.(Pruner); ok && len(p.r.referrers) == 0 {
		return of.Prune(ctx, p.r, oldest)
	}
	q := &Query{Resource: p.r, Limit: int64(oldest.Limit)}
	if oldest.Keep > 0 {
		all, err := Count(ctx, tx, &Query{Resource: p.r})
		if err != nil {
			return 0, "", err
		}
		oldest.Keep = max(all-oldest.Keep, 0) // now those to delete
	}
	if oldest.After != "" {
		q.After = &Place{ID: oldest.After}
	}
	page, err := tx.List(ctx, q)
	if err != nil {
		return 0, "", err
	}
	for i, rec := range page.Records {
		if int64(i) >= oldest.Keep && !rec.Meta().CreatedAt.Before(oldest.Before) {
			continue
		}
		err := tx.Delete(ctx, p.r, rec.Meta().ID, rec.Meta().Version, func(effect *Effect) error {
			return p.logEffect(ctx, tx, p.scope(tx, true), p.by, cause(p.r, rec), effect)
		})
		if err != nil {
			return 0, "", err
		}
		deleted, last = deleted+1, rec.Meta().ID
	}
	return deleted, last, nil
}

// sign adds the entry of a transaction to the audit log.
func (p *pruning) sign(ctx context.Context, tx Tx, deleted int64) error {
	changes := p.policy()
	changes["pruned"] = Change{nil, deleted}
	page, err := tx.List(ctx, &Query{Resource: p.r, Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Records) > 0 {
		changes["oldest"] = Change{nil, page.Records[0].Meta().CreatedAt.Format(time.RFC3339Nano)}
	}
	entry, err := p.AuditEntry(p.by, PruneAction, p.r.Kind(), "", changes)
	if err != nil {
		return err
	}
	return tx.Create(ctx, entry)
}

// policy returns what the call keeps as changes.
func (p *pruning) policy() Changes {
	changes := Changes{}
	if p.keep.MaxAge > 0 {
		changes["max_age"] = Change{nil, p.keep.MaxAge.String()}
	}
	if p.keep.MaxRecords > 0 {
		changes["max_records"] = Change{nil, p.keep.MaxRecords}
	}
	return changes
}

// dryRun fills in the preview.
func (p *pruning) dryRun(ctx context.Context) error {
	p.preview.reset()
	from := Fresh(p.store)
	var n, old int64
	var err error
	if p.keep.MaxRecords > 0 {
		n, err = Count(ctx, from, &Query{Resource: p.r})
		if n -= p.keep.MaxRecords; p.r.Name == auditLogs && n > 0 {
			n++ // for the entry that says so
		}
	}
	if !p.before.IsZero() && err == nil {
		old, err = Count(ctx, from, &Query{Resource: p.r}, "created_at", Condition{Lt, p.before})
	}
	if err != nil {
		return err
	}
	n = max(n, old)
	p.preview.count("delete", p.r, "", n)
	p.preview.Truncated = n > 0
	return nil
}

// audit prunes the audit log: it signs the last position to delete, and then deletes.
func (p *pruning) audit(ctx context.Context) error {
	chain, ok := Fresh(p.store).(AuditChain)
	if !ok {
		return errors.New("the store keeps no chain of its audit log, which can't be pruned")
	}
	at, more, err := p.lastExpired(ctx, chain)
	if err != nil {
		return err
	}
	after := int64(0)
	return p.batches(ctx, func(tx Tx, limit int) (n int64, end bool, err error) {
		of, ok := tx.(AuditPruner)
		if !ok {
			return 0, false, errors.New("the store can't prune its audit log")
		}
		if at != nil {
			if err := p.anchor(ctx, tx, of, *at); err != nil {
				return 0, false, err
			}
		}
		n, last, err := of.PruneAudit(ctx, after, limit)
		if err == nil {
			after = max(after, last)
		}
		p.done.More = more || n == int64(limit)
		return n, n < int64(limit) || p.reached(n), err
	})
}

// anchor writes and signs an anchor, unless another call has written it or a later one.
func (p *pruning) anchor(ctx context.Context, tx Tx, of AuditPruner, at AuditPosition) error {
	changes := p.policy()
	entry, err := p.AuditEntry(p.by, PruneAction, p.r.Kind(), "", changes)
	if err != nil {
		return err
	}
	anchor := &AuditAnchor{AuditPosition: at, Actor: entry.Actor, At: entry.CreatedAt}
	if ok, err := of.AnchorAudit(ctx, anchor); !ok || err != nil {
		return err
	}
	for name, change := range signAnchor(anchor) {
		changes[name] = change
	}
	return tx.Create(ctx, entry)
}

// lastExpired returns the last position up to which all entries are to be deleted, nil if there
// is none after the last anchor, and whether there may be more than this call deletes. Entries of
// earlier prunings go with older or younger ones only: otherwise each call would replace the one
// of the call before.
func (p *pruning) lastExpired(ctx context.Context, chain AuditChain) (last *AuditPosition, more bool, err error) {
	head, err := chain.AuditHead(ctx)
	if err != nil {
		return nil, false, err
	}
	anchors, err := chain.AuditAnchors(ctx)
	if err != nil {
		return nil, false, err
	}
	seq := int64(0)
	for _, a := range anchors {
		if a.Pruned > 0 {
			seq = max(seq, a.Seq)
		}
	}
	first, excess := seq, int64(0)
	if p.keep.MaxRecords > 0 {
		excess = head.Seq - p.keep.MaxRecords + 1 // one more for the entry of this call
		if head.Seq-first <= p.keep.MaxRecords {
			excess = 0
		}
	}
	for {
		page, err := chain.AuditAfter(ctx, seq, verifySize)
		if err != nil || len(page) == 0 {
			return last, false, err
		}
		for _, e := range page {
			expired := e.Entry == nil || e.Entry.CreatedAt.Before(p.before)
			switch {
			case e.Seq > head.Seq || e.Seq > excess && !expired:
				return last, false, nil
			case p.keep.Limit > 0 && e.Seq-first > p.keep.Limit || p.reached(0):
				return last, last != nil, nil
			}
			if e.Seq <= excess || e.Entry != nil && e.Entry.Action != PruneAction {
				last = &e.AuditPosition
			}
		}
		seq = page[len(page)-1].Seq
	}
}
