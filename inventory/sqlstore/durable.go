package sqlstore

import (
	"context"
	"database/sql"
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
// (Dialect.CommitAsync), so that the next one gets the end of the log at once. Its call returns when a
// later flush, of all that wait by then, has ended; and readers of the log wait for one too before
// they return entries that a crash could take back.
type durability struct {
	writing atomic.Int32 // transactions in progress

	mu      sync.Mutex
	running bool                  // a flush runs, and another one if next is not nil
	next    *flushRound           // of the calls that wait for the next flush
	last    records.AuditPosition // committed without the wait, the last one of this process
	flushed int64                 // the last position that is known to be on disk
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

// commitsAsync reports whether the commit of the transaction need not wait: others run, and one
// flush may be enough for all. Changes of the schema are adopted at their commit, so they wait.
func (t *transaction) commitsAsync() bool {
	return t.dialect.CommitAsync != "" && t.next == nil && t.durability.writing.Load() > 1
}

// noteCommit notes a commit that does not wait. The caller has the lock of the chain.
func (t *transaction) noteCommit() {
	d := &t.durability
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = t.chained
}

// settle waits until what a transaction has committed, or has read if it changed nothing, is on
// disk.
func (s *shared) settle(ctx context.Context, t *transaction) error {
	if s.dialect.CommitAsync == "" {
		return nil
	}
	d := &s.durability
	d.mu.Lock()
	at := t.chained
	switch {
	case at.Seq > 0 && !t.async:
		d.flushed = max(d.flushed, at.Seq)
		d.mu.Unlock()
		return nil
	case at.Seq == 0 && len(t.counts) == 0 && d.last.Seq > d.flushed:
		at = d.last
	}
	d.mu.Unlock()
	if at.Seq == 0 {
		return nil
	}
	return s.failure(ctx, "wait until a change is on disk", s.waitFlushed(ctx, at))
}

// settleRead waits until an entry of the audit log that was read is on disk. Other processes may
// have written it.
func (s *Store) settleRead(ctx context.Context, at records.AuditPosition) error {
	d := &s.durability
	d.mu.Lock()
	done := s.dialect.CommitAsync == "" || at.Seq <= d.flushed || s.reader != s.writer // which sends what it has flushed
	d.mu.Unlock()
	if done {
		return nil
	}
	return s.waitFlushed(ctx, at)
}

// settleHead is settleRead for the end of the log.
func (s *Store) settleHead(ctx context.Context, at records.AuditPosition) error {
	d := &s.durability
	d.mu.Lock()
	if at.Seq < d.flushed { // another database, such as a restored one
		d.flushed = 0
	}
	d.mu.Unlock()
	if at.Seq == 0 {
		return nil
	}
	return s.settleRead(ctx, at)
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
			d.flushed, d.last = 0, records.AuditPosition{} // the database may be another one
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
	if err := s.flusher.QueryRowContext(ctx, s.dialect.Flush, string(list)).Scan(&found); err != nil {
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

// flusherOf returns the handle for flushes, which do not wait for the connections of other calls.
func flusherOf(opts *Options, writer *sql.DB) *sql.DB {
	if len(opts.Health) > 0 {
		return opts.Health[0]
	}
	return writer
}
