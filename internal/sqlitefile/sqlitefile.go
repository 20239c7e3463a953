// Package sqlitefile opens SQLite databases through database/sql, and lets one process at a
// time migrate them.
//
//	db, err := sqlitefile.Open(ctx, "sqlite", "inventory.db", nil)
//
// It imports no driver: the importing package registers one and passes its name. The driver
// has to accept the URI parameters _pragma and _txlock, and its errors need a method
// Code() int, as those of modernc.org/sqlite do.
//
// # Design notes
//
// A file has a write-ahead log, so that readers do not wait for the writer. The log is synced
// at checkpoints and not at each commit (synchronous=NORMAL): a crash of the process loses
// nothing; a loss of power may lose the commits since the last checkpoint, all from some point
// on, but never corrupts the file.
//
// One handle has a single connection and writes, the other one has several and reads. Writers
// therefore wait in Go, in order and until their context ends; SQLite itself would turn them
// away after its busy timeout. Each transaction of the writer begins with the write lock
// (_txlock=immediate), since SQLite can't upgrade a transaction that has read while another
// process wrote.
//
// A database in memory belongs to one connection, which serves readers and writers in turn.
// Several connections can share one, but without a log they would block each other.
//
// A third handle, with a connection of its own, is for health checks, so that they wait for no
// query.
//
// New files have mode 0600, because databases hold password hashes and keys. SQLite gives the
// log the mode of the database, whatever the umask. Open removes the permissions of other users
// from existing files, with a line in the log, and fails if it may not.
//
// SQLite would write on to a file that was deleted, moved or replaced by another one, and
// everything would be lost at the end of the process. So each use of a connection compares the
// open files with those at their paths, and so does each commit. If they differ, calls fail.
// When the last connection to the old file has been closed, and the log has been written to
// it, a new connection opens the file at the path, if it has the same tables and columns.
// To overwrite the content of an open file can't be detected: rename a new file over it.
package sqlitefile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strings"
	"time"
)

// Memory is the path of a database in memory. It ends when its handle is closed.
const Memory = ":memory:"

// Options change how a database is opened. Nil means the defaults.
type Options struct {
	// Readers is the number of connections that read. Default: the number of processors, at
	// least 4.
	Readers int
	// BusyTimeout bounds how long a statement waits for the lock of another process.
	// Default: 5s.
	BusyTimeout time.Duration
	// Health opens a third handle, for health checks.
	Health bool
	// Log receives warnings about the files. Default: slog.Default.
	Log *slog.Logger
	// Pragmas are settings of every connection besides those of the package, such as
	// "cache_size(-32000)".
	Pragmas []string
}

// Handles are the handles to a database.
type Handles struct {
	Writer *sql.DB // has one connection
	Reader *sql.DB // the writer if the database is in memory
	Health *sql.DB // has one connection; nil without Options.Health and if the database is in memory
}

// Close closes the handles.
func (h *Handles) Close() (err error) {
	if h.Health != nil {
		err = h.Health.Close()
	}
	if h.Reader != h.Writer {
		err = errors.Join(err, h.Reader.Close())
	}
	return errors.Join(err, h.Writer.Close())
}

// Open opens the database in a file. It creates the file if there is none. The caller closes
// the handles.
//
// Several processes may open a new file at the same time. SQLite does not wait for a lock
// while it creates the write-ahead log, so Open retries until BusyTimeout. Any other error of
// the database is left to the first statement.
func Open(ctx context.Context, driver, path string, opts *Options) (*Handles, error) {
	o := *cmp.Or(opts, &Options{})
	o.Readers = cmp.Or(max(0, o.Readers), max(4, runtime.GOMAXPROCS(0)))
	o.BusyTimeout = cmp.Or(max(0, o.BusyTimeout), 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	if path != Memory {
		if err := prepare(path, o.Log); err != nil {
			return nil, err
		}
	}
	db, err := o.open(driver, path)
	if err != nil {
		return nil, err
	}
	if err := connect(ctx, db.Writer, o.BusyTimeout); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// immediate makes transactions begin with the write lock.
const immediate = "&_txlock=immediate"

// open makes the handles, without connections.
func (o *Options) open(driver, path string) (*Handles, error) {
	db, err := sql.Open(driver, o.uri(path)+immediate)
	if err != nil {
		return nil, err
	}
	if path == Memory {
		db.SetMaxOpenConns(1)
		return &Handles{Writer: db, Reader: db}, nil
	}
	f := &file{driver: db.Driver(), path: path, log: o.Log, busy: o.BusyTimeout, open: map[*conn]struct{}{}}
	if err := db.Close(); err != nil {
		return nil, err
	}
	handle := func(conns int, writes bool, parameters string) *sql.DB {
		db := sql.OpenDB(&connector{f, o.uri(path) + "&mode=rw" + parameters, writes, parameters == immediate})
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		f.handles = append(f.handles, db)
		return db
	}
	handles := &Handles{Writer: handle(1, true, immediate), Reader: handle(o.Readers, false, "")}
	if o.Health {
		handles.Health = handle(1, true, "")
	}
	return handles, nil
}

// uri returns the URI of a path, which may contain any character.
func (o *Options) uri(path string) string {
	name := (&url.URL{Path: path}).EscapedPath()
	if strings.HasPrefix(path, "//") {
		name = "//" + name // the first element would be taken for a host
	}
	pragmas := append([]string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)",
	}, o.Pragmas...)
	return "file:" + name + "?_pragma=" + strings.Join(pragmas, "&_pragma=")
}

// connect makes the first connection, which creates the write-ahead log of a new file.
func connect(ctx context.Context, db *sql.DB, timeout time.Duration) error {
	for end := time.Now().Add(timeout); code(db.PingContext(ctx))&primary == busy && time.Now().Before(end); {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Result codes of SQLite. An extended code has the primary one in its low byte.
const (
	primary             = 0xff
	generic             = 1
	busy                = 5
	corrupt             = 11
	notDatabase         = 26
	constraintPrimary   = 1555
	constraintUniqueKey = 2067
)

// codedError is an error of the driver.
type codedError interface {
	error
	Code() int
}

// code returns the extended result code of an error of the driver, or 0.
func code(err error) int {
	if coded, ok := errors.AsType[codedError](err); ok {
		return coded.Code()
	}
	return 0
}

// Damage returns the error of the driver that says that the file is damaged, or no database at all. It returns nil for
// other errors.
func Damage(err error) error {
	coded, _ := errors.AsType[codedError](err)
	if c := code(coded) & primary; c == corrupt || c == notDatabase {
		return coded
	}
	return nil
}

// Duplicate reports whether an error is the violation of a unique or primary key, and returns
// its columns. SQLite names them in the message only: "constraint failed: UNIQUE constraint
// failed: links.a_interface_id, links.b_interface_id (2067)".
func Duplicate(err error) (columns []string, ok bool) {
	if code := code(err); code != constraintUniqueKey && code != constraintPrimary {
		return nil, false
	}
	list := err.Error()
	if i := strings.LastIndex(list, "failed: "); i >= 0 {
		list = list[i+len("failed: "):]
	}
	list, _, _ = strings.Cut(list, " (")
	for part := range strings.SplitSeq(list, ", ") {
		_, column, _ := strings.Cut(part, ".")
		columns = append(columns, column)
	}
	return columns, true
}
