package sqlitefile

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrReplaced is returned while the path does not lead to the file that was opened, and by a
// commit to a file that was replaced, moved or deleted meanwhile.
var ErrReplaced = errors.New("the database file was replaced, moved or deleted while it was open")

// mode is the mode of database files: they hold password hashes and keys.
const mode fs.FileMode = 0o600

// others are the permissions of other users.
const others fs.FileMode = 0o077

// prepare creates the file, unless it exists. It removes the permissions of other users from
// an existing file and its log.
func prepare(path string, log *slog.Logger) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode)
	if _, missing := os.Stat(path); errors.Is(err, fs.ErrExist) && errors.Is(missing, fs.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode) // path is a symbolic link to a new file
	}
	if err == nil {
		return errors.Join(f.Chmod(mode), f.Close()) // the umask may have removed permissions of the owner
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := restrict(path+suffix, log); err != nil {
			return err
		}
	}
	return nil // SQLite reports why a file can't be created or read
}

// restrict removes the permissions of other users from a file, if it exists.
func restrict(name string, log *slog.Logger) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&others == 0 || runtime.GOOS == "windows" {
		return nil
	}
	have, want := info.Mode().Perm(), info.Mode().Perm()&^others
	if err := os.Chmod(name, want); err != nil {
		return fmt.Errorf("%s has mode %04o, which lets other users use it: run chmod %04o as its owner: %w", name, have, want, err)
	}
	log.Warn("other users could use a file of the database: its mode was changed", "file", name,
		"from", fmt.Sprintf("%04o", have), "to", fmt.Sprintf("%04o", want))
	return nil
}

// file is a database file that connections of several handles have open.
type file struct {
	driver  driver.Driver
	path    string
	log     *slog.Logger
	busy    time.Duration // how long a statement waits for the lock of another process
	handles []*sql.DB     // set before they are used

	mu     sync.Mutex
	open   map[*conn]struct{}
	id     *identity // of the file that was opened last, nil before
	schema string    // the tables and columns after the migration
}

// identity identifies an open database: SQLite keeps the files open, whatever happens to their
// names.
type identity struct {
	main, log os.FileInfo
	lost      atomic.Bool // the files were found not to be in their places
}

// inPlace reports whether the names still lead to the open files. A writer also needs the name
// of the log: a log without a name is lost when the process ends.
func (f *file) inPlace(id *identity, writes bool) bool {
	info, err := os.Stat(f.path)
	if err != nil || !os.SameFile(info, id.main) {
		return false
	}
	if !writes || id.log == nil {
		return true
	}
	info, err = os.Stat(f.path + "-wal")
	return err == nil && os.SameFile(info, id.log)
}

// retire closes the idle connections to a file that was replaced, so that a later call can
// open the new one.
func (f *file) retire(id *identity) {
	if id.lost.CompareAndSwap(false, true) {
		f.log.Error(ErrReplaced.Error()+": calls fail until a usable file is in its place", "file", f.path)
	}
	for _, db := range f.handles {
		idle := max(1, db.Stats().MaxOpenConnections)
		db.SetMaxIdleConns(-1) // closes them
		db.SetMaxIdleConns(idle)
	}
}

// connect opens a connection. If the file was replaced, it fails while connections to the old
// one are open, and returns its identity: both files have the same names for their logs.
func (f *file) connect(ctx context.Context, uri string, writes bool) (opened *conn, lost *identity, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := len(f.open) == 0
	if !first && (f.id.lost.Load() || !f.inPlace(f.id, true)) {
		return nil, f.id, fmt.Errorf("%w: %s", ErrReplaced, f.path)
	}
	replaced := f.id != nil && !f.inPlace(f.id, false)
	if replaced {
		if err := f.checkLog(); err != nil {
			return nil, nil, err
		}
	}
	plain, err := f.driver.Open(uri)
	if err != nil {
		if _, missing := os.Stat(f.path); f.id != nil && errors.Is(missing, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrReplaced, missing)
		}
		return nil, nil, err
	}
	raw := plain.(rawConn)
	if first {
		id, err := f.identify(ctx, raw, replaced)
		if err != nil {
			return nil, nil, errors.Join(err, raw.Close())
		}
		if f.id != nil && f.id.lost.Load() {
			f.log.Warn("the database file is open again", "file", f.path)
		}
		f.id = id
	}
	opened = &conn{rawConn: raw, file: f, id: f.id, writes: writes}
	f.open[opened] = struct{}{}
	return opened, nil, nil
}

// checkLog returns an error if the log of the replaced file is still there, and not empty:
// SQLite would add it to the new file.
func (f *file) checkLog() error {
	info, err := os.Stat(f.path + "-wal")
	if err == nil && f.id.log != nil && os.SameFile(info, f.id.log) && info.Size() > 0 {
		return fmt.Errorf("%w: %s-wal belongs to the replaced file and another process uses it: stop that process, and delete the file", ErrReplaced, f.path)
	}
	return nil
}

// identify returns the identity of the files that a first connection has opened. A file that
// replaces another one needs the same tables and columns.
func (f *file) identify(ctx context.Context, raw rawConn, replaced bool) (*identity, error) {
	schema, err := schemaOf(ctx, raw) // reading opens the log
	if err != nil {
		return nil, err
	}
	if replaced && schema != f.schema {
		return nil, fmt.Errorf("%w: %s has other tables or columns: put a backup of this version in its place, or restart", ErrReplaced, f.path)
	}
	id := &identity{}
	if id.main, err = os.Stat(f.path); err != nil {
		return nil, err
	}
	id.log, _ = os.Stat(f.path + "-wal") // nil for a file system that supports no log
	return id, nil
}

// schemaOf returns the tables and columns of a database.
func schemaOf(ctx context.Context, raw rawConn) (schema string, err error) {
	rows, err := raw.QueryContext(ctx, `SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY 1`, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for value := make([]driver.Value, 1); ; {
		switch err := rows.Next(value); {
		case errors.Is(err, io.EOF):
			return schema, nil
		case err != nil:
			return "", err
		}
		name, _ := value[0].(string)
		schema += name + "\n"
	}
}

// connector opens the connections of one handle.
type connector struct {
	file   *file
	uri    string
	writes bool
	locks  bool // its transactions begin with the write lock
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, lost, err := c.file.connect(ctx, c.uri, c.writes)
	if lost != nil {
		c.file.retire(lost)
		opened, _, err = c.file.connect(ctx, c.uri, c.writes)
	}
	if err != nil {
		return nil, err
	}
	if c.locks {
		opened.locks = true
		if err := opened.wait(ctx, patience); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
	}
	return opened, nil
}

func (c *connector) Driver() driver.Driver { return c.file.driver }

// rawConn is a connection of a driver, with the optional methods that drivers of SQLite have.
type rawConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection that is not used after its file was replaced.
type conn struct {
	rawConn
	file   *file
	id     *identity
	writes bool
	locks  bool
}

// patience is the time that SQLite itself waits for the write lock before BeginTx tries again. SQLite looks
// for the lock after 1 and 2 ms, and then more and more rarely, up to every 100 ms: another process
// that changes the database all the time would take the lock between two looks.
const patience = 3 * time.Millisecond

// Close closes the connection. The last one to a file that was replaced or moved first writes
// the log to that file, which SQLite does for a file in its place only.
func (c *conn) Close() error {
	f := c.file
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, c)
	if len(f.open) == 0 && !f.inPlace(c.id, true) {
		err := c.wait(context.Background(), f.busy)
		if err == nil {
			_, err = c.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)", nil)
		}
		if err != nil {
			f.log.Error("the log of a replaced database file can't be written to it", "file", f.path, "err", err)
		}
	}
	return c.rawConn.Close()
}

// ResetSession is called before each use of an idle connection.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.id.lost.Load() || !c.file.inPlace(c.id, c.writes) {
		c.file.retire(c.id)
		return driver.ErrBadConn
	}
	return c.rawConn.ResetSession(ctx)
}

// IsValid is called after each use of a connection.
func (c *conn) IsValid() bool { return c.rawConn.IsValid() && !c.id.lost.Load() }

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	for end := time.Now().Add(c.file.busy); ; {
		tx, err := c.rawConn.BeginTx(ctx, opts)
		switch {
		case err == nil:
			return transaction{tx, c}, nil
		case !c.locks || code(err)&primary != busy || time.Now().After(end) || ctx.Err() != nil:
			return nil, err
		}
	}
}

// wait sets how long SQLite itself waits for a lock.
func (c *conn) wait(ctx context.Context, limit time.Duration) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", limit.Milliseconds()), nil)
	return err
}

// transaction is a transaction whose commit fails if the file was replaced meanwhile.
type transaction struct {
	driver.Tx
	conn *conn
}

func (t transaction) Commit() error {
	if err := t.Tx.Commit(); err != nil {
		return err
	}
	if c := t.conn; !c.file.inPlace(c.id, c.writes) {
		return fmt.Errorf("%w: %s: the change was made in a file that is no longer in its place", ErrReplaced, c.file.path)
	}
	return nil
}
