package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// Options are the choices of [Open]. Nil means the defaults.
type Options struct {
	// Readers is how many connections read at the same time. Default: one for each processor,
	// and at least 4.
	Readers int
	// BusyTimeout is how long a change waits for another process that is writing, before it
	// fails with inventory.Unavailable. Default: 5s.
	BusyTimeout time.Duration
	// Store are the choices of the store itself.
	Store *sqlstore.Options
}

func (o *Options) busy() time.Duration {
	if o.BusyTimeout <= 0 {
		return 5 * time.Second
	}
	return o.BusyTimeout
}

// Memory is the path of a database in memory.
const Memory = ":memory:"

// Open opens the file, which is made if it is not there, with its schema up to date. The
// path [Memory] is a database of its own that is gone when the store is closed. The caller
// closes the store. Several processes may have the same file open.
func Open(ctx context.Context, path string, opts *Options) (*sqlstore.Store, error) {
	if path == "" {
		return nil, errors.New("open an inventory: name a file, or " + Memory + " for none")
	}
	if opts == nil {
		opts = &Options{}
	}
	writer, reader, err := handles(path, opts)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	var store *sqlstore.Store
	if err = settle(ctx, writer, opts); err == nil {
		store, err = sqlstore.New(ctx, writer, reader, Dialect(), opts.Store)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), reader.Close(), writer.Close())
	}
	return store, nil
}

// settle makes the first connection, which gives a new file its write-ahead log. SQLite does
// not wait for a lock there: of several that open a new file together some are turned away
// immediately, whatever their timeout is. What else is wrong is told by who comes next.
func settle(ctx context.Context, db *sql.DB, opts *Options) error {
	for end := time.Now().Add(opts.busy()); ; {
		if !busy(db.PingContext(ctx)) || time.Now().After(end) {
			return nil
		}
		timer := time.NewTimer(time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// handles are the one that writes and the one that reads. In memory they are the same, of
// one connection, which has the database for itself, as long as it is open.
func handles(path string, opts *Options) (writer, reader *sql.DB, err error) {
	name, options := "file:"+(&url.URL{Path: path}).EscapedPath(), common(opts)
	switch {
	case path == Memory:
		name = "file:" + Memory
	case strings.HasPrefix(path, "//"):
		name = "file://" + name[len("file:"):] // or what is behind the slashes would be a host
	}
	writer, err = sql.Open("sqlite", name+"?"+strings.Join(append(options, "_txlock=immediate"), "&"))
	if err != nil {
		return nil, nil, err
	}
	writer.SetMaxOpenConns(1)
	if path == Memory {
		return writer, writer, nil
	}
	reader, err = sql.Open("sqlite", name+"?"+strings.Join(options, "&"))
	if err != nil {
		return nil, nil, errors.Join(err, writer.Close())
	}
	readers := opts.Readers
	if readers <= 0 {
		readers = max(4, runtime.GOMAXPROCS(0))
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return writer, reader, nil
}

// common are the settings of every connection.
func common(opts *Options) []string {
	return []string{
		fmt.Sprintf("_pragma=busy_timeout(%d)", opts.busy().Milliseconds()),
		"_pragma=cache_size(-32000)", "_pragma=wal_autocheckpoint(4000)", "_pragma=temp_store(2)", "_pragma=journal_mode(WAL)", "_pragma=synchronous(NORMAL)", "_pragma=foreign_keys(1)",
	}
}
