package storetest_test

import (
	"context"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// defective is a store with some methods replaced. A replacement gets the original to call.
type defective struct {
	records.Store
	get    func(ctx context.Context, from records.Reader, r *records.Resource, id string) (records.Record, error)
	list   func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error)
	change func(ctx context.Context, f func(tx records.Tx) error) error
	create func(ctx context.Context, tx records.Tx, recs ...records.Record) error
	update func(ctx context.Context, tx records.Tx, rec records.Record, version int64) error
	remove func(ctx context.Context, tx records.Tx, r *records.Resource, id string, version int64) error
	audit  func(page []records.ChainedEntry)
	oldest func(o *records.Oldest) // of a pruning
	keep   int                     // entries of the audit log that a pruning leaves
}

func (b *defective) Get(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	if b.get != nil {
		return b.get(ctx, b.Store, r, id)
	}
	return b.Store.Get(ctx, r, id)
}

func (b *defective) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if b.list != nil {
		return b.list(ctx, b.Store, q)
	}
	return b.Store.List(ctx, q)
}

func (b *defective) Change(ctx context.Context, f func(tx records.Tx) error) error {
	within := func(tx records.Tx) error { return f(&defectiveTx{tx, b}) }
	if b.change != nil {
		return b.change(ctx, within)
	}
	return b.Store.Change(ctx, within)
}

func (b *defective) AuditHead(ctx context.Context) (records.AuditPosition, error) {
	return b.Store.(records.AuditChain).AuditHead(ctx)
}

func (b *defective) AuditAfter(ctx context.Context, seq int64, limit int) ([]records.ChainedEntry, error) {
	page, err := b.Store.(records.AuditChain).AuditAfter(ctx, seq, limit)
	if b.audit != nil {
		b.audit(page)
	}
	return page, err
}

func (b *defective) AuditAnchors(ctx context.Context) ([]records.AuditAnchor, error) {
	return b.Store.(records.AuditChain).AuditAnchors(ctx)
}

func (b *defective) AuditUnchained(ctx context.Context) (string, error) {
	return b.Store.(records.AuditChain).AuditUnchained(ctx)
}

// defectiveTx is a transaction of a defective store.
type defectiveTx struct {
	records.Tx
	*defective
}

func (tx *defectiveTx) Get(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	if tx.get != nil {
		return tx.get(ctx, tx.Tx, r, id)
	}
	return tx.Tx.Get(ctx, r, id)
}

func (tx *defectiveTx) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if tx.list != nil {
		return tx.list(ctx, tx.Tx, q)
	}
	return tx.Tx.List(ctx, q)
}

func (tx *defectiveTx) Create(ctx context.Context, recs ...records.Record) error {
	if tx.create != nil {
		return tx.create(ctx, tx.Tx, recs...)
	}
	return tx.Tx.Create(ctx, recs...)
}

func (tx *defectiveTx) Update(ctx context.Context, rec records.Record, version int64) error {
	if tx.update != nil {
		return tx.update(ctx, tx.Tx, rec, version)
	}
	return tx.Tx.Update(ctx, rec, version)
}

func (tx *defectiveTx) Delete(ctx context.Context, r *records.Resource, id string, version int64, effects func(*records.Effect) error) error {
	if tx.remove != nil {
		return tx.remove(ctx, &reporting{tx.Tx, effects}, r, id, version)
	}
	return tx.Tx.Delete(ctx, r, id, version, effects)
}

// Prune deletes the oldest records one by one.
func (tx *defectiveTx) Prune(ctx context.Context, r *records.Resource, o records.Oldest) (deleted int64, last string, err error) {
	if tx.oldest != nil {
		tx.oldest(&o)
	}
	page, err := tx.Tx.List(ctx, &records.Query{Resource: r})
	if err != nil {
		return 0, "", err
	}
	for i, rec := range page.Records {
		m := rec.Meta()
		many := o.Keep > 0 && int64(len(page.Records)-i) > o.Keep
		if m.ID <= o.After || !many && !m.CreatedAt.Before(o.Before) || deleted == int64(o.Limit) {
			continue
		}
		if err := tx.Tx.Delete(ctx, r, m.ID, m.Version, nil); err != nil {
			return deleted, last, err
		}
		deleted, last = deleted+1, m.ID
	}
	return deleted, last, nil
}

func (tx *defectiveTx) AnchorAudit(ctx context.Context, anchor *records.AuditAnchor) (bool, error) {
	return tx.Tx.(records.AuditPruner).AnchorAudit(ctx, anchor)
}

func (tx *defectiveTx) PruneAudit(ctx context.Context, after int64, limit int) (deleted, last int64, err error) {
	return tx.Tx.(records.AuditPruner).PruneAudit(ctx, after, max(limit-tx.keep, 0))
}

// reporting reports the effects of deletions.
type reporting struct {
	records.Tx
	effects func(*records.Effect) error
}

func (tx *reporting) Delete(ctx context.Context, r *records.Resource, id string, version int64, _ func(*records.Effect) error) error {
	return tx.Tx.Delete(ctx, r, id, version, tx.effects)
}

// Change is that of the store, which a transaction does not have.
func (*defectiveTx) Change(context.Context, func(records.Tx) error) error {
	panic("a transaction within a transaction")
}
