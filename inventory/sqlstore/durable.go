package sqlstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// durability lets transactions that commit one after another share the time until their commits are
// on disk. While others run, a transaction that extends the audit log commits without that wait
// (dialect.Spec.CommitAsync), so that the next one gets the end of the log at once. Its call returns when a
// later flush, of all that wait by then, has ended. So does that of a transaction that has changed
// nothing, for what it has read; and readers of the log, for the entries that they return.
type durability struct {
	writing atomic.Int32 // transactions in progress

	mu      sync.Mutex
	running bool        // a flush runs, and another one if next is not nil
	next    *flushRound // of the calls that wait for the next flush
	flushed int64       // the last position that is known to be on disk
}

// flushRound is a flush for the calls that wait for it.
type flushRound struct {
	entries []flushedEntry
	done    chan struct{} // closed when err is set
	err     error
}

// flushedEntry is a position that must still be in the database after a flush.
type flushedEntry struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// known returns the last position that is known to be on disk.
func (d *durability) known() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flushed
}

// readHead returns the end of the audit log.
func (s *shared) readHead() string { return "SELECT seq, hash FROM " + s.own.head + " WHERE id = 1" }

// noteRead notes the end of the log that a transaction sees that has changed nothing. What it has read
// is not newer, whichever process has written it.
func (t *transaction) noteRead(ctx context.Context) error {
	if t.dialect.CommitAsync == "" || len(t.counts) > 0 {
		return nil
	}
	known := t.durability.known() // before the read, since a crash could take positions back after it
	var at records.AuditPosition
	err := t.each(ctx, 2, func(row []any) error { return scanPosition(row, &at) }, t.readHead())
	if err == nil && at.Seq != known {
		t.chained, t.async = at, true
	}
	return t.end(ctx, "read the end of the audit log", err)
}

// settle waits until what a transaction has committed, or has read if it changed nothing, is on
// disk.
func (s *shared) settle(ctx context.Context, t *transaction) error {
	switch {
	case s.dialect.CommitAsync == "" || t.chained.Seq == 0:
		return nil
	case t.async:
		return s.failure(ctx, "wait until a change is on disk", s.waitFlushed(ctx, t.chained))
	}
	d := &s.durability
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flushed = max(d.flushed, t.chained.Seq)
	return nil
}

// settleRead waits until an entry of the audit log that was read is on disk. Other processes may
// have written it. Positions up to known were there before the read.
func (s *Store) settleRead(ctx context.Context, at records.AuditPosition, known int64) error {
	if s.dialect.CommitAsync == "" || at.Seq <= known || s.reader != s.writer && !s.replica.away() { // a replica gets what was flushed
		return nil
	}
	return s.waitFlushed(ctx, at)
}

// settleHead is settleRead for the end of the log.
func (s *Store) settleHead(ctx context.Context, at records.AuditPosition, known int64) error {
	if at.Seq < known { // another database, such as a restored one
		d := &s.durability
		d.mu.Lock()
		d.flushed, known = 0, 0
		d.mu.Unlock()
	}
	if at.Seq == 0 {
		return nil
	}
	return s.settleRead(ctx, at, known)
}

// waitFlushed waits for a flush that begins after the call.
func (s *shared) waitFlushed(ctx context.Context, at records.AuditPosition) error {
	d := &s.durability
	d.mu.Lock()
	if d.next == nil {
		d.next = &flushRound{done: make(chan struct{})}
	}
	round := d.next
	round.entries = append(round.entries, flushedEntry{at.Seq, hex.EncodeToString(at.Hash)})
	if !d.running {
		d.running = true
		go s.flushRounds()
	}
	d.mu.Unlock()
	select {
	case <-round.done:
		return round.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flushRounds flushes until no call waits.
func (s *shared) flushRounds() {
	d := &s.durability
	for {
		d.mu.Lock()
		round := d.next
		d.next, d.running = nil, round != nil
		d.mu.Unlock()
		if round == nil {
			return
		}
		last := int64(0)
		for _, e := range round.entries {
			last = max(last, e.Seq)
		}
		round.err = s.flush(round.entries)
		d.mu.Lock()
		if round.err == nil {
			d.flushed = max(d.flushed, last)
		} else {
			d.flushed = 0 // the database may be another one
		}
		d.mu.Unlock()
		close(round.done)
	}
}

var errTakenBack = errors.New("the database has restarted and may have lost the change")

// flush waits until the commits of some entries are on disk. It finds the entries in the transaction
// that waits: a database that has restarted in the meantime may have lost them, and then has
// nothing to wait for.
func (s *shared) flush(entries []flushedEntry) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Timeout)
	defer cancel()
	list, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	var found int
	for _, db := range s.flushers { // the server may have no connection for the first
		if err = db.QueryRowContext(ctx, fmt.Sprintf(s.dialect.Flush, s.own.chain, s.own.head), string(list)).Scan(&found); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if found < len(entries) {
		return &records.Error{
			Kind: records.Unavailable, Message: "The database has restarted and may have lost the change: look for it, and try again",
			Err: fmt.Errorf("%w: %d of %d entries of the audit log are there", errTakenBack, found, len(entries)),
		}
	}
	return nil
}
