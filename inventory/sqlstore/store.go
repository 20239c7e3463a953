package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Options change how a [Store] works. Nil means the defaults.
type Options struct {
	// Namespace keeps the tables apart from others of the database: those of the namespace inventory are
	// inventory.devices, in a schema of PostgreSQL, which is created if there is none, or inventory_devices on SQLite.
	// It has up to 40 lower-case letters, digits and underscores, and begins with a letter. Default: none, and the
	// tables are in the current schema.
	Namespace string
	// Statements bounds the prepared statements that are cached for each handle, if the driver
	// caches none. Default: 256.
	Statements int
	// Attempts bounds how often a transaction is run when the database asks to run it again.
	// Default: 10.
	Attempts int
	// Timeout bounds each call, with the time that it waits for a connection and for locks: it
	// fails with records.Unavailable after it. New, Backup and the migration take as long as
	// their contexts allow. Default: 10 s.
	Timeout time.Duration
	// Health are handles for Ping, so that a ping does not wait for the connections of other calls. The first one, to
	// the database of the writer, also waits until commits are on disk. The store closes them. Nil means the writer,
	// and the reader if it is no replica; without elements a ping does nothing.
	Health []*sql.DB
	// Replica says that the reader is a handle to a replica, which lags behind the writer: see
	// [Store.Fresh]. Default: both are handles to one database.
	Replica bool
	// KeepOpen leaves the handles open when the store is closed. sqlite.New and postgres.New set it.
	KeepOpen bool
	// Log receives the progress of an upgrade of the schema, every 2 seconds. Default: slog.Default.
	Log *slog.Logger
	// Span begins a span of a trace for each transaction, named "transaction", and each statement, named by its first word and
	// with its text, which has no values, as db.query.text. What it returns ends the span. Default: no spans.
	Span func(ctx context.Context, name string, attrs func() []slog.Attr) (within context.Context, end func(error))
	// Now is the clock for records that change because a record that they refer to was
	// deleted. Default: time.Now.
	Now func() time.Time
}

// Store is an records.Store in a database. Make it with [New]. It is safe for concurrent
// use.
type Store struct {
	*shared
	writer, reader *sql.DB
}

// New brings the schema up to date, under a lock, and returns a store that writes through one
// handle and reads through the other. They may be the same. The reader may be a handle to a
// replica ([Options].Replica), where a record that was just written may be missing.
//
// The store closes both handles, unless Options.KeepOpen is set; if New fails, the caller does. The error is of kind
// records.Unavailable if the database can't be reached.
func New(ctx context.Context, writer, reader *sql.DB, d Dialect, schema *records.Schema, opts *Options) (*Store, error) {
	d.packers = newPackers()
	s := &Store{writer: writer, reader: reader, shared: &shared{
		dialect: d, caches: map[*sql.DB]*statementCache{},
		exclusive: make(chan struct{}, 1), chainLock: make(chan struct{}, 1),
		declarations: declarations{changed: make(chan struct{}, 1), refresh: make(chan struct{}, 1)},
	}}
	if opts != nil {
		s.opts = *opts
	}
	for _, needed := range []struct {
		name    string
		missing bool
	}{{"schema", schema == nil}, {"handle for writing", writer == nil}, {"handle for reading", reader == nil}, {"dialect", d.Classify == nil}} {
		if needed.missing {
			return nil, fmt.Errorf("open the inventory: the %s is missing", needed.name)
		}
	}
	schema, err := d.within(s.opts.Namespace, schema)
	if err != nil {
		return nil, fmt.Errorf("open the inventory: %w", err)
	}
	s.own = tablesOf(schema)
	s.current.Store(schema)
	s.opts.Statements = cmp.Or(max(s.opts.Statements, 0), 256)
	s.opts.Attempts = cmp.Or(max(s.opts.Attempts, 0), 10)
	s.opts.Timeout = cmp.Or(max(s.opts.Timeout, 0), 10*time.Second)
	s.opts.Log = cmp.Or(s.opts.Log, slog.Default())
	s.flushers = append(slices.Clone(s.opts.Health[:min(1, len(s.opts.Health))]), writer) // the first does not wait for the connections of other calls
	if s.opts.Replica {
		s.replica = replicaOf(writer, reader)
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if s.opts.Span == nil {
		s.opts.Span = func(ctx context.Context, _ string, _ func() []slog.Attr) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}
	if d.Prepare {
		for _, db := range []*sql.DB{writer, reader} {
			s.caches[db] = &statementCache{db: db, bound: s.opts.Statements, byText: map[string]*cachedStatement{}}
		}
	}
	if err := d.migrate(ctx, writer, schema, s.opts.Log); err != nil {
		what := "migrate the inventory"
		if d.Exclusive != nil && s.classify(err).Kind == dialect.Unavailable {
			what += " (another process may be upgrading it, which can take minutes: start again after it)"
		}
		return nil, s.failure(ctx, what, err)
	}
	if err := s.keepReserve(ctx); err != nil {
		s.opts.Log.WarnContext(ctx, "the database has no space to keep some for administrators", "error", err)
	}
	if err := s.follow(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// reading returns an executor of statements that read.
func (s *Store) reading() *executor {
	return &executor{shared: s.shared, schema: s.Schema(), db: s.reader, until: time.Now().Add(s.opts.Timeout)}
}

// Fresh returns a reader that sees all changes that have returned (records.FreshReader). It
// reads through the writer if the reader is a replica.
func (s *Store) Fresh() records.Reader {
	if !s.opts.Replica {
		return s
	}
	return &Store{shared: s.shared, writer: s.writer, reader: s.writer}
}

// fresh returns the handle of the readers that see all changes.
func (s *Store) fresh() *sql.DB {
	if s.opts.Replica {
		return s.writer
	}
	return s.reader
}

// Close closes the handles, unless Options.KeepOpen is set. Calls in progress fail.
func (s *Store) Close() error {
	s.unfollow()
	for _, cache := range s.caches {
		cache.evictAll()
	}
	if s.opts.KeepOpen {
		return nil
	}
	err := s.reader.Close()
	if s.writer != s.reader {
		err = errors.Join(err, s.writer.Close())
	}
	for _, db := range s.opts.Health {
		err = errors.Join(err, db.Close())
	}
	return err
}

// Ping returns an error of kind records.Unavailable if a database does not respond, not
// before the deadline of the context or Options.Timeout, or is damaged, or if this program is older than the database.
func (s *Store) Ping(ctx context.Context) error {
	if outdated := s.outdated.Load(); outdated != nil {
		return outdated
	}
	handles := s.opts.Health
	if handles == nil {
		handles = slices.Compact([]*sql.DB{s.writer, s.fresh()})
	}
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	for _, db := range handles {
		err := db.PingContext(within)
		switch {
		case err == nil:
		case errors.Is(ctx.Err(), context.Canceled):
			return s.failure(ctx, "ping the database", err)
		default:
			return unavailable("ping the database", err)
		}
	}
	if len(handles) == 0 {
		return nil
	}
	return s.checkDamage(within, handles[0])
}

// Schema returns the schema of the store.
func (s *Store) Schema() *records.Schema { return s.current.Load() }

// Stats returns the statistics of the two handles, for metrics. They are equal if there is one
// handle.
func (s *Store) Stats() (writer, reader sql.DBStats) { return s.writer.Stats(), s.reader.Stats() }

// Size returns the size of the database in bytes, 0 if it is unknown.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	if s.dialect.Size == "" {
		return 0, nil
	}
	err = s.reading().each(ctx, 1, func(row []any) error { size, _ = row[0].(int64); return nil }, s.dialect.Size)
	return size, s.failure(ctx, "read the size of the database", err)
}

// ReplicaLag returns how old what the replica has is, 0 if it has all that the database has sent. ok is false without a
// replica ([Options].Replica).
func (s *Store) ReplicaLag(ctx context.Context) (lag time.Duration, ok bool, err error) {
	if !s.opts.Replica || s.dialect.Lag == "" {
		return 0, false, nil
	}
	err = s.reading().each(ctx, 1, func(row []any) error {
		seconds, _ := row[0].(float64)
		lag = time.Duration(seconds * float64(time.Second))
		return nil
	}, s.dialect.Lag)
	return lag, true, s.failure(ctx, "read the lag of the replica", err)
}

// MaxReads returns the number of connections that read (records.ReadBounder).
func (s *Store) MaxReads() int { return s.reader.Stats().MaxOpenConnections }

// Get returns a record, or records.Absent.
func (s *Store) Get(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	rec, _, err := s.reading().get(ctx, r, id)
	return rec, err
}

// Backup copies the database to a new file, which only its owner may read, while others read
// and write. The file appears under its name when it is complete. Backup fails if the file
// exists, and for databases that have their own tools for this.
func (s *Store) Backup(ctx context.Context, file string) error {
	return s.failure(ctx, "back up the inventory", Backup(ctx, s.reader, s.dialect, file))
}

// Backup does what [Store.Backup] does, for a database that is not opened as a store and whose
// schema may have any version.
func Backup(ctx context.Context, db *sql.DB, d Dialect, file string) error {
	if d.Backup == "" && d.Dump == nil {
		return fmt.Errorf("there is no backup of %s here: use postgres.Backup", d.Name)
	}
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s exists or can't be read: name a new file", file)
	}
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // an empty file is accepted
	if err != nil {
		return fmt.Errorf("%w: name another file, or delete this one if no backup is running", err)
	}
	if d.Dump != nil {
		err = d.Dump(ctx, db, part)
	} else {
		_, err = db.ExecContext(ctx, d.Backup, part)
	}
	if err == nil {
		err = f.Sync() // SQLite does not; a copy that a loss of power cuts short must not get the name
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Link(part, file) // unlike a rename, it fails if the file exists by now
	}
	return errors.Join(err, os.Remove(part))
}
