package sqlstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// auditLink is a new entry of the audit log.
type auditLink struct {
	id     string
	digest [sha256.Size]byte
}

// links returns the new entries of the audit log among records.
func (t *transaction) links(all []records.Record) (links []auditLink, err error) {
	for _, rec := range all {
		a, ok := rec.(*records.AuditLog)
		if !ok {
			continue
		}
		changes, err := t.dialect.textOfChanges(a.Changes)
		if err != nil {
			return nil, err
		}
		digest, _ := records.AuditDigest(a, changes)
		links = append(links, auditLink{a.ID, digest})
	}
	return links, nil
}

// extendChain adds the new entries of the audit log to the chain, as the last step of a
// transaction: the lock of the head puts transactions in the order in which they commit, and is
// held until then. Nothing after it waits for another lock.
func (t *transaction) extendChain(ctx context.Context) error {
	if len(t.audited) == 0 {
		return t.noteRead(ctx)
	}
	if err := t.lockChain(ctx); err != nil {
		return err
	}
	// The commit need not wait if others run: one flush may be enough for all. Changes of the schema are adopted at
	// their commit, so they wait.
	t.async = t.dialect.CommitAsync != "" && t.next == nil && t.durability.writing.Load() > 1
	if done, err := t.extendFrom(ctx, t.shared.chainHead); done || err != nil {
		return err
	}
	var at records.AuditPosition
	found := false
	err := t.each(ctx, 2, func(row []any) error {
		found = true
		return scanPosition(row, &at)
	}, t.readHead()+t.dialect.ForUpdate)
	if err == nil && !found {
		err = fmt.Errorf("the table %s has no row", t.own.head)
	}
	if err != nil {
		return t.end(ctx, "read the end of the audit log", err)
	}
	for links := t.audited; len(links) > 0; {
		size := 1
		for _, n := range chunks {
			if n <= len(links) {
				size = n
				break
			}
		}
		b := &builder{shared: t.shared}
		rows := b.chainRows(links[:size], &at, "(%s, %s, %s)")
		if _, err := t.exec(ctx, "INSERT INTO "+t.own.chain+" (seq, id, hash) VALUES "+rows, b.args...); err != nil {
			return t.end(ctx, "extend the audit log", err)
		}
		links = links[size:]
	}
	b := &builder{shared: t.shared}
	_, err = t.exec(ctx, "UPDATE "+t.own.head+" SET seq = "+b.arg(at.Seq)+", hash = "+b.arg(at.Hash)+" WHERE id = 1"+t.returning(), b.args...)
	t.chained = at
	return t.end(ctx, "write the end of the audit log", err)
}

// chainRows returns the rows of VALUES for links after a position, and moves it to the last one.
func (b *builder) chainRows(links []auditLink, at *records.AuditPosition, format string) string {
	rows := make([]string, len(links))
	for i, l := range links {
		*at = at.Next(l.digest)
		rows[i] = fmt.Sprintf(format, b.arg(at.Seq), b.arg(l.id), b.arg(at.Hash))
	}
	return strings.Join(rows, ", ")
}

// lockChain makes the transactions of this process wait for each other here, which is cheaper
// than in the database. The lock is released at the end of run.
func (t *transaction) lockChain(ctx context.Context) error {
	if t.dialect.ForUpdate == "" {
		return nil // one writer at a time
	}
	within, cancel := t.within(ctx)
	defer cancel()
	select {
	case t.shared.chainLock <- struct{}{}:
		t.chainLocked = true
		return nil
	case <-within.Done():
		return t.end(ctx, "wait to extend the audit log", within.Err())
	}
}

// unlockChain releases the lock of lockChain. It remembers the end of the chain for the next
// transaction, if this one was committed.
func (t *transaction) unlockChain(committed bool) {
	if !t.chainLocked {
		return
	}
	if committed {
		t.shared.chainHead = t.chained
	}
	<-t.shared.chainLock
}

// maxAtOnce bounds the links that extendFrom adds, so that there are few different statements.
const maxAtOnce = 4

// extendFrom adds a few entries after a position with one statement, so that the lock is held
// for a short time. It returns false if another process has extended the chain, or the database
// can't.
func (t *transaction) extendFrom(ctx context.Context, from records.AuditPosition) (done bool, err error) {
	if t.dialect.ChainRow == "" || len(t.audited) > maxAtOnce {
		return false, nil
	}
	b := &builder{shared: t.shared}
	at := from
	rows := b.chainRows(t.audited, &at, t.dialect.ChainRow)
	text := "WITH head AS (UPDATE " + t.own.head + " SET seq = " + b.arg(at.Seq) + ", hash = " + b.arg(at.Hash) +
		" WHERE id = 1 AND seq = " + b.arg(from.Seq) + " AND hash = " + b.arg(append([]byte{}, from.Hash...)) + cmp.Or(t.returning(), " RETURNING 1") + ")" +
		" INSERT INTO " + t.own.chain + " (seq, id, hash) SELECT link.* FROM head, (VALUES " + rows + ") AS link"
	n, err := t.exec(ctx, text, b.args...)
	if err != nil {
		return false, t.end(ctx, "extend the audit log", err)
	}
	t.chained = at
	return n > 0, nil
}

// returning follows the statement that moves the end of the chain.
func (t *transaction) returning() string {
	if t.async {
		return " RETURNING " + t.dialect.CommitAsync
	}
	return ""
}

// scanPosition reads the columns seq and hash.
func scanPosition(row []any, p *records.AuditPosition) error {
	seq, ok := row[0].(int64)
	hash, ok2 := row[1].([]byte)
	if !ok || !ok2 && row[1] != nil {
		return fmt.Errorf("a position in the audit log is %T and %T in the database", row[0], row[1])
	}
	p.Seq, p.Hash = seq, append([]byte(nil), hash...)
	return nil
}

// AuditHead returns the last position of the audit log (records.AuditChain).
func (s *Store) AuditHead(ctx context.Context) (records.AuditPosition, error) {
	var at records.AuditPosition
	e, known := s.reading(), s.durability.known()
	err := e.each(ctx, 2, func(row []any) error { return scanPosition(row, &at) }, e.readHead())
	if err == nil {
		err = s.settleHead(ctx, at, known)
	}
	return at, s.failure(ctx, "read the end of the audit log", err)
}

// AuditAfter returns entries of the audit log after a position (records.AuditChain).
func (s *Store) AuditAfter(ctx context.Context, seq int64, limit int) ([]records.ChainedEntry, error) {
	e, known := s.reading(), s.durability.known()
	of := e.table(records.Of[records.AuditLog](e.schema))
	b := &builder{shared: s.shared}
	columns := make([]string, len(of.columns))
	for i, c := range of.columns {
		columns[i] = "a." + c.Column
	}
	text := "SELECT c.seq, c.hash, " + strings.Join(columns, ", ") + " FROM " + s.own.chain + " c LEFT JOIN " + of.name +
		" a ON a.id = c.id WHERE c.seq > " + b.arg(seq) + " ORDER BY c.seq LIMIT " + b.arg(int64(limit))
	var page []records.ChainedEntry
	err := e.each(ctx, 2+len(columns), func(row []any) error {
		var entry records.ChainedEntry
		if err := scanPosition(row, &entry.AuditPosition); err != nil {
			return err
		}
		defer func() { page = append(page, entry) }()
		row = row[2:]
		if row[of.position["id"]] == nil {
			return nil
		}
		rec, err := of.record(row)
		if err != nil {
			return err
		}
		entry.Entry = rec.(*records.AuditLog)
		entry.Digest, entry.Former = records.AuditDigest(entry.Entry, textOf(row[of.position["changes"]]))
		return nil
	}, text, b.args...)
	if err == nil && len(page) > 0 {
		err = s.settleRead(ctx, page[len(page)-1].AuditPosition, known)
	}
	if err != nil {
		return nil, s.failure(ctx, "read the audit log", err)
	}
	return page, nil
}

// textOf returns a text as a driver returns it.
func textOf(value any) string {
	if doc, ok := value.([]byte); ok {
		return string(doc)
	}
	text, _ := value.(string)
	return text
}

// AuditAnchors returns the anchors of the audit log (records.AuditChain).
func (s *Store) AuditAnchors(ctx context.Context) ([]records.AuditAnchor, error) {
	var all []records.AuditAnchor
	e := s.reading()
	err := e.each(ctx, 5, func(row []any) error {
		var a records.AuditAnchor
		if err := scanPosition(row, &a.AuditPosition); err != nil {
			return err
		}
		a.Pruned, _ = row[2].(int64)
		a.Actor = textOf(row[3])
		switch at := row[4].(type) {
		case time.Time:
			a.At = at.UTC()
		case int64:
			a.At = time.UnixMicro(at).UTC()
		}
		all = append(all, a)
		return nil
	}, "SELECT seq, hash, pruned, actor, at FROM "+s.own.anchors+" ORDER BY seq")
	return all, s.failure(ctx, "read the anchors of the audit log", err)
}

// AuditUnchained finds an entry of the audit log without a position (records.AuditChain).
func (s *Store) AuditUnchained(ctx context.Context) (id string, err error) {
	e := s.reading()
	e.until = time.Time{}
	of := e.table(records.Of[records.AuditLog](e.schema))
	err = e.each(ctx, 1, func(row []any) error { id = textOf(row[0]); return nil },
		"SELECT min(id) FROM (SELECT id FROM "+of.name+" EXCEPT SELECT id FROM "+s.own.chain+") AS unchained")
	return id, s.failure(ctx, "read the audit log", err)
}

// createChain returns the statements that create the tables of the chain of the audit log. They
// come before entries are added: existing ones, of an early version, get positions without hashes. The first anchor
// ends these, so that nobody can declare a later entry to be one of them.
func (d *Dialect) createChain(own ownTables, have *Catalog) []string {
	number, bytes := d.DDL.Types[records.Int]+" NOT NULL", d.DDL.Bytes+" NOT NULL"
	text, at := d.DDL.Types[records.Text]+" NOT NULL", d.DDL.Types[records.Time]+" NOT NULL"
	key := func(table string) string { return number + " CONSTRAINT " + local(table) + "_pkey PRIMARY KEY" }
	all := []string{
		"CREATE TABLE " + own.chain + " (\n    seq " + key(own.chain) + ",\n    id " + text + ",\n    hash " + bytes + "\n)",
		"CREATE TABLE " + own.head + " (\n    id " + key(own.head) + " CHECK (id = 1),\n    seq " + number + ",\n    hash " + bytes + "\n)",
		"CREATE TABLE " + own.anchors + " (\n    seq " + key(own.anchors) + ",\n    hash " + bytes +
			",\n    pruned " + number + " CHECK (pruned >= 0),\n    actor " + text + ",\n    at " + at + "\n)",
		"INSERT INTO " + own.head + " (id, seq, hash) VALUES (1, 0, " + d.DDL.NoBytes + ")",
	}
	if logs := own.prefix + "audit_logs"; have.filled[logs] {
		all = append(all,
			"INSERT INTO "+own.chain+" (seq, id, hash) SELECT row_number() OVER (ORDER BY id), id, "+d.DDL.NoBytes+" FROM "+logs,
			"UPDATE "+own.head+" SET seq = (SELECT count(*) FROM "+logs+")")
	}
	return append(all, "INSERT INTO "+own.anchors+" (seq, hash, pruned, actor, at) SELECT seq, hash, 0, '', "+d.DDL.Now+" FROM "+own.head)
}
