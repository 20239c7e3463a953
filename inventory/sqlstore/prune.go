package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Prune deletes the oldest records of a resource (records.Pruner). One statement reads the total
// and deletes, so that concurrent calls do not delete more than one of them would.
func (t *transaction) Prune(ctx context.Context, r *records.Resource, oldest records.Oldest) (deleted int64, last string, err error) {
	if err := t.claimMany(); err != nil {
		return 0, "", err
	}
	of := t.table(r)
	b := &builder{shared: t.shared, table: of}
	scanned := "SELECT id, created_at FROM " + of.name
	if oldest.After != "" {
		scanned += " WHERE id > " + b.arg(oldest.After)
	}
	scanned += " ORDER BY id LIMIT " + b.arg(int64(oldest.Limit))
	condition := never
	if !oldest.Before.IsZero() {
		condition = "created_at < " + b.arg(oldest.Before)
	}
	if oldest.Keep > 0 {
		condition += " OR place <= (" + b.sum(of.countsOfAll()) + ") - " + b.arg(oldest.Keep)
	}
	text := "DELETE FROM " + of.name + " WHERE id IN (SELECT id FROM (SELECT id, created_at, row_number() OVER (ORDER BY id) AS place FROM (" +
		scanned + ") AS scanned) AS placed WHERE " + condition + ")" + of.returning
	note := t.deleted(of)
	err = t.each(ctx, of.returned(), func(row []any) error {
		deleted++
		if id, _ := row[0].(string); id > last {
			last = id
		}
		return note(row)
	}, text, b.args...)
	return deleted, last, t.end(ctx, "delete the oldest of "+of.Name, err)
}

// claimMany is claimExclusive for several records.
func (t *transaction) claimMany() error {
	if t.ended != nil {
		return t.ended
	}
	t.changed++
	if err := t.claimExclusive(); err != nil {
		return err
	}
	clear(t.rows)
	clear(t.prefetched)
	return nil
}

// AnchorAudit replaces the anchor of the audit log (records.AuditPruner). It locks the anchors, so
// that prunings wait for each other. No other transaction uses them.
func (t *transaction) AnchorAudit(ctx context.Context, anchor *records.AuditAnchor) (bool, error) {
	if t.ended != nil {
		return false, t.ended
	}
	pruned := int64(0)
	err := t.each(ctx, 2, func(row []any) error {
		if n, _ := row[1].(int64); n > 0 {
			seq, _ := row[0].(int64)
			pruned = max(pruned, seq)
		}
		return nil
	}, "SELECT seq, pruned FROM "+t.own.anchors+" ORDER BY seq"+t.dialect.ForUpdate)
	anchor.Pruned = anchor.Seq - pruned
	if err != nil || anchor.Pruned <= 0 {
		return false, t.end(ctx, "read the anchors of the audit log", err)
	}
	b := &builder{shared: t.shared}
	if _, err := t.exec(ctx, "DELETE FROM "+t.own.anchors+" WHERE pruned > 0 OR seq = "+b.arg(anchor.Seq), b.args...); err != nil {
		return false, t.end(ctx, "replace the anchor of the audit log", err)
	}
	b = &builder{shared: t.shared}
	text := fmt.Sprintf("INSERT INTO "+t.own.anchors+" (seq, hash, pruned, actor, at) VALUES (%s, %s, %s, %s, %s)",
		b.arg(anchor.Seq), b.arg(append([]byte{}, anchor.Hash...)), b.arg(anchor.Pruned), b.arg(anchor.Actor), b.arg(anchor.At))
	_, err = t.exec(ctx, text, b.args...)
	return err == nil, t.end(ctx, "replace the anchor of the audit log", err)
}

// PruneAudit deletes entries of the audit log up to the anchor (records.AuditPruner).
func (t *transaction) PruneAudit(ctx context.Context, after int64, limit int) (deleted, last int64, err error) {
	if err := t.claimMany(); err != nil {
		return 0, 0, err
	}
	b := &builder{shared: t.shared}
	text := "SELECT seq, id FROM " + t.own.chain + " WHERE seq > " + b.arg(after) +
		" AND seq <= (SELECT max(seq) FROM " + t.own.anchors + " WHERE pruned > 0) ORDER BY seq LIMIT " + b.arg(int64(limit)) + t.dialect.ForUpdate
	var ids []any
	err = t.each(ctx, 2, func(row []any) error {
		last, _ = row[0].(int64)
		ids = append(ids, textOf(row[1]))
		return nil
	}, text, b.args...)
	if err != nil || len(ids) == 0 {
		return 0, 0, t.end(ctx, "find the oldest entries of the audit log", err)
	}
	of := t.table(records.Of[records.AuditLog](t.schema))
	for chunk := range slices.Chunk(ids, maxIDs) {
		b := &builder{shared: t.shared}
		text := "DELETE FROM " + of.name + " WHERE " + b.anyOf("id", chunk) + of.returning
		if err := t.each(ctx, of.returned(), t.deleted(of), text, b.args...); err != nil {
			return 0, 0, t.end(ctx, "delete the oldest entries of the audit log", err)
		}
	}
	b = &builder{shared: t.shared}
	_, err = t.exec(ctx, "DELETE FROM "+t.own.chain+" WHERE seq > "+b.arg(after)+" AND seq <= "+b.arg(last), b.args...)
	return int64(len(ids)), last, t.end(ctx, "delete the oldest positions of the audit log", err)
}
