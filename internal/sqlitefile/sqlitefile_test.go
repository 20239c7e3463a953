package sqlitefile_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/sqlitefile"
)

// fake is a driver that records what it is sent. The packages that import sqlitefile test it
// with a real one.
type fake struct {
	mu         sync.Mutex
	names      []string
	statements []string
	busy       int              // how many connections fail with SQLITE_BUSY
	fails      map[string]error // by statement
}

type code int

func (c code) Code() int { return int(c) }
func (c code) Error() string {
	return fmt.Sprintf("constraint failed: UNIQUE constraint failed: links.a, links.b (%d)", c)
}

func (f *fake) Open(name string) (driver.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy > 0 {
		f.busy--
		return nil, fmt.Errorf("connect: %w", code(5|1<<8))
	}
	f.names = append(f.names, name)
	return conn{f}, nil
}

type conn struct{ *fake }

func (c conn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c conn) Close() error                        { return nil }
func (c conn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }

func (c conn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements = append(c.statements, query)
	return driver.ResultNoRows, c.fails[query]
}

func (c conn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return noRows{}, nil
}

func (c conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return nil, errors.ErrUnsupported
}

func (c conn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.ErrUnsupported
}

func (c conn) Ping(context.Context) error         { return nil }
func (c conn) ResetSession(context.Context) error { return nil }
func (c conn) IsValid() bool                      { return true }

type noRows struct{}

func (noRows) Columns() []string         { return []string{"name"} }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

// register registers a fake under the name of the test.
func register(t *testing.T, f *fake) (name string) {
	t.Helper()
	sql.Register(t.Name(), f)
	return t.Name()
}

func open(t *testing.T, f *fake, path string, opts *sqlitefile.Options) (writer, reader *sql.DB) {
	t.Helper()
	db, err := sqlitefile.Open(t.Context(), register(t, f), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.Writer, db.Reader
}

func TestFile(t *testing.T) {
	f, path := &fake{}, filepath.Join(t.TempDir(), "a b?c=d#e%20&f'g.db")
	writer, reader := open(t, f, path, &sqlitefile.Options{Readers: 3, Pragmas: []string{"cache_size(-32000)"}})
	if err := reader.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w, r := writer.Stats().MaxOpenConnections, reader.Stats().MaxOpenConnections; w != 1 || r != 3 {
		t.Errorf("%d connections write and %d read; want 1 and 3", w, r)
	}
	const settings = "a%20b%3Fc=d%23e%2520&f%27g.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)&_pragma=cache_size(-32000)"
	uri := "file:" + filepath.ToSlash(filepath.Dir(path)) + "/" + settings + "&mode=rw"
	if want := []string{uri + "&_txlock=immediate", uri}; !slices.Equal(f.names, want) {
		t.Errorf("the driver opens\n%q; want\n%q", f.names, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file: %v, %v; want mode 0600", info, err)
	}
}

// TestModes: an existing file and its log lose the permissions of other users, with a line in
// the log.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	path := filepath.Join(t.TempDir(), "a.db")
	want := map[string]fs.FileMode{"": 0o600, "-wal": 0o600, "-shm": 0o400}
	for suffix, have := range map[string]fs.FileMode{"": 0o640, "-wal": 0o602, "-shm": 0o444} {
		if err := errors.Join(os.WriteFile(path+suffix, nil, 0o600), os.Chmod(path+suffix, have)); err != nil {
			t.Fatal(err)
		}
	}
	var log logtest.Log
	open(t, &fake{}, path, &sqlitefile.Options{Log: log.Logger()})
	for suffix, mode := range want {
		if info, err := os.Stat(path + suffix); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %o", suffix, info, err, mode)
		}
		if !strings.Contains(log.String(), "file="+path+suffix+" ") {
			t.Errorf("the log does not name %s:\n%s", path+suffix, log.String())
		}
	}
}

// TestLinkToNewFile checks that a symbolic link to a file that does not exist creates the file.
func TestLinkToNewFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "new.db"), link); err != nil {
		t.Skip(err)
	}
	open(t, &fake{}, link, nil)
	info, err := os.Stat(filepath.Join(dir, "new.db"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("the file has mode %04o, want 0600", mode)
	}
}

func TestPathWithTwoSlashes(t *testing.T) {
	f := &fake{}
	open(t, f, "/"+filepath.Join(t.TempDir(), "a.db"), nil)
	if !strings.HasPrefix(f.names[0], "file:////") {
		t.Errorf("the driver opens %q, whose host is not empty", f.names[0])
	}
}

func TestMemory(t *testing.T) {
	f := &fake{}
	writer, reader := open(t, f, sqlitefile.Memory, nil)
	if writer != reader || !strings.HasPrefix(f.names[0], "file::memory:?") {
		t.Errorf("the handles are the same: %t; the driver opens %q", writer == reader, f.names[0])
	}
	if _, err := os.Stat(sqlitefile.Memory); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database in memory has made a file: %v", err)
	}
}

func TestWaitsWhileBusy(t *testing.T) {
	f := &fake{busy: 3}
	open(t, f, sqlitefile.Memory, nil)
	if f.busy != 0 || len(f.names) != 1 {
		t.Errorf("%d connections were opened, and %d more would be busy", len(f.names), f.busy)
	}
}

func TestBusyTimeout(t *testing.T) {
	writer, _ := open(t, &fake{busy: 1 << 30}, sqlitefile.Memory, &sqlitefile.Options{BusyTimeout: time.Millisecond})
	if err := writer.PingContext(t.Context()); !strings.HasSuffix(fmt.Sprint(err), "(261)") {
		t.Errorf("the error of the first statement is %v", err)
	}
}

func TestOpenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	name := register(t, &fake{busy: 1 << 30})
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := sqlitefile.Open(ctx, name, sqlitefile.Memory, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestUnknownDriver(t *testing.T) {
	if _, err := sqlitefile.Open(t.Context(), "unknown", sqlitefile.Memory, nil); err == nil {
		t.Error("a driver that nobody has registered opens a database")
	}
}

func TestMigrate(t *testing.T) {
	failed := errors.New("failed")
	inTransaction := func(then error) func(db *sql.DB) error {
		return func(db *sql.DB) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(t.Context(), "one"); err != nil || then != nil {
				return errors.Join(then, err, tx.Rollback())
			}
			return tx.Commit()
		}
	}
	for name, c := range map[string]struct {
		migrate func(db *sql.DB) error
		fails   map[string]error
		want    error
		sends   string
	}{
		"committed":   {inTransaction(nil), nil, nil, "BEGIN IMMEDIATE; SAVEPOINT migration; one; RELEASE migration; COMMIT"},
		"rolled back": {inTransaction(failed), nil, failed, "BEGIN IMMEDIATE; SAVEPOINT migration; one; ROLLBACK TO migration; RELEASE migration; ROLLBACK"},
		"locked":      {inTransaction(nil), map[string]error{"BEGIN IMMEDIATE": failed}, failed, "BEGIN IMMEDIATE"},
		"not saved":   {inTransaction(nil), map[string]error{"COMMIT": failed}, failed, "BEGIN IMMEDIATE; SAVEPOINT migration; one; RELEASE migration; COMMIT; ROLLBACK"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{fails: c.fails}
			writer, _ := open(t, f, sqlitefile.Memory, nil)
			if err := sqlitefile.Migrate(t.Context(), writer, c.migrate); !errors.Is(err, c.want) {
				t.Errorf("the error is %v; want %v", err, c.want)
			}
			if got := strings.Join(f.statements, "; "); got != c.sends {
				t.Errorf("the statements are %s; want %s", got, c.sends)
			}
			if n := writer.Stats().InUse; n != 0 {
				t.Errorf("%d connections are still in use", n)
			}
		})
	}
}

// TestMigrateRolledBack: after an error such as that of a full disk, SQLite has rolled the transaction back by itself.
func TestMigrateRolledBack(t *testing.T) {
	full := errors.New("database or disk is full")
	writer, _ := open(t, &fake{fails: map[string]error{"COMMIT": full, "ROLLBACK": code(1)}}, sqlitefile.Memory, nil)
	if err := sqlitefile.Migrate(t.Context(), writer, func(*sql.DB) error { return nil }); err == nil || err.Error() != full.Error() {
		t.Errorf("the error is %v; want %v", err, full)
	}
}

func TestDamage(t *testing.T) {
	for err, want := range map[error]bool{code(11): true, code(11 | 1<<8): true, code(26): true, code(5): false, errors.New("(11)"): false} {
		if got := sqlitefile.Damage(fmt.Errorf("open: %w", err)); (got == err) != want || (got == nil) == want {
			t.Errorf("%v: the damage is %v", err, got)
		}
	}
}

func TestDuplicate(t *testing.T) {
	for err, want := range map[error][]string{
		code(2067): {"a", "b"}, code(1555): {"a", "b"}, code(787): nil, errors.New("(2067)"): nil,
	} {
		columns, ok := sqlitefile.Duplicate(err)
		if !slices.Equal(columns, want) || ok != (want != nil) {
			t.Errorf("%v: %v, %t; want %v", err, columns, ok, want)
		}
	}
}
