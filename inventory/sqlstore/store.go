package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// Options are the choices of a [Store]. Nil means the defaults.
type Options struct {
	// Statements is how many prepared statements are kept for each handle, where the driver
	// keeps none. Default: 256.
	Statements int
	// Attempts is how often a transaction is run that the database asks to be run again.
	// Default: 10.
	Attempts int
	// Replica says that the reader is a handle of a replica, which is a moment behind the
	// writer: see [Store.Fresh]. Default: both are of one database.
	Replica bool
	// Now is the clock: when a record was changed because what it refers to was deleted.
	// Default: time.Now.
	Now func() time.Time
}

// Store is an inventory.Store in a database. Make it with [New]. It is safe for concurrent
// use.
type Store struct {
	*shared
	writer, reader *sql.DB
}

// New brings the schema up to date, under a lock, and makes a store that writes through
// one handle and reads through the other. They may be the same. The reader may also be one of a
// replica ([Options].Replica), where what was just written may not be found yet.
//
// The store closes both; if New fails, they are the caller's. The error is of kind
// inventory.Unavailable if the database does not answer.
func New(ctx context.Context, writer, reader *sql.DB, dialect Dialect, opts *Options) (*Store, error) {
	s := &Store{writer: writer, reader: reader, shared: &shared{
		dialect: dialect, tables: tables(&dialect), kept: map[*sql.DB]*statements{},
		turns: make(chan struct{}, 1),
	}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Statements <= 0 {
		s.opts.Statements = 256
	}
	if s.opts.Attempts <= 0 {
		s.opts.Attempts = 10
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if dialect.Prepare {
		for _, db := range []*sql.DB{writer, reader} {
			s.kept[db] = newStatements(db, s.opts.Statements)
		}
	}
	if err := dialect.migrate(ctx, writer); err != nil {
		return nil, s.failure(ctx, "migrate the inventory", err)
	}
	return s, nil
}

// readers is a session that reads.
func (s *Store) readers() *session { return &session{shared: s.shared, db: s.reader} }

// Fresh reads what the changes that have returned have made (inventory.FreshReader):
// through the writer if the reader is that of a replica.
func (s *Store) Fresh() inventory.Reader {
	if !s.opts.Replica {
		return s
	}
	return &Store{shared: s.shared, writer: s.writer, reader: s.writer}
}

// Close closes the database. Calls that are under way fail.
func (s *Store) Close() error {
	err := s.reader.Close()
	if s.writer != s.reader {
		err = errors.Join(err, s.writer.Close())
	}
	return err
}

// Ping returns an error of kind inventory.Unavailable if the database does not answer, or not
// before the deadline of the context.
func (s *Store) Ping(ctx context.Context) error {
	err := s.writer.PingContext(ctx)
	if err == nil && s.reader != s.writer {
		err = s.reader.PingContext(ctx)
	}
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return s.failure(ctx, "ping the database", err)
	}
	return unavailable("ping the database", err)
}

// Get returns a record.
func (s *Store) Get(ctx context.Context, r *inventory.Resource, id string) (inventory.Record, error) {
	rec, _, err := s.readers().get(ctx, r, id)
	return rec, err
}

// get returns a record and the cells that it was made of.
func (s *session) get(ctx context.Context, r *inventory.Resource, id string) (rec inventory.Record, row []any, err error) {
	t := s.tables[r]
	err = s.each(ctx, len(t.columns), func(cells []any) error {
		row = cells
		rec, err = t.record(cells)
		return err
	}, t.get, id)
	switch {
	case err != nil:
		return nil, nil, s.failure(ctx, "read one of "+r.Name(), err)
	case rec == nil:
		return nil, nil, inventory.Absent(r)
	}
	return rec, row, nil
}

// Stats are what the two handles are doing, for metrics. They are the same if there is one
// handle.
func (s *Store) Stats() (writer, reader sql.DBStats) { return s.writer.Stats(), s.reader.Stats() }
