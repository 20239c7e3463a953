package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

const (
	// connectTimeout bounds the connection to one host of a URL that sets no connect_timeout, so that a host that
	// does not respond leaves time for the next one.
	connectTimeout = 3 * time.Second
	// connectionLife and connectionIdle end connections, so that other processes get some of a server that has few.
	connectionLife = 5 * time.Minute
	connectionIdle = time.Minute
	// refusedWait is how long a call tries to connect if it is the only one of its handle.
	refusedWait = 2 * time.Second
	// raiseLimit is the interval at which a handle tries one connection more, after the server has refused one.
	raiseLimit = time.Second
)

// pool connects a handle to a server. It recognizes a pooler in between, and bounds the connections of the handle to
// those that the server gives.
type pool struct {
	driver.Connector
	db   *sql.DB
	most int // connections
	log  *slog.Logger
	// shares says that the connection is to a pooler that gives each transaction another session of the server.
	shares atomic.Bool

	mu    sync.Mutex
	raise *time.Timer // nil until the server has refused a connection
	empty time.Time   // when the handle had none last, for refusedWait
}

// errShares is the error of a connection that prepares statements and turns out to be one to a pooler.
var errShares = errors.New("a pooler is between this program and PostgreSQL")

// handle makes a pool of connections, and opens none yet.
func handle(url string, conns int, log *slog.Logger) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's error may contain the password.
		return nil, errors.New("invalid URL of the database: use postgres://user:password@host:5432/inventory?sslmode=require")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	if config.RuntimeParams["application_name"] == "" { // who holds a lock
		host, _ := os.Hostname()
		config.RuntimeParams["application_name"] = fmt.Sprintf("%s %d %.30s", filepath.Base(os.Args[0]), os.Getpid(), host)
	}
	p := &pool{most: cmp.Or(max(conns, 0), 16), log: cmp.Or(log, slog.Default())}
	setJIT := config.RuntimeParams["jit"] == "" // compiling the statement of a page takes longer than the page
	chosen := strings.Contains(url, "default_query_exec_mode=")
	p.Connector = stdlib.GetConnector(*config, stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		if p.shares.Load() && !chosen {
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		return nil
	}), stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		err := p.recognize(ctx, conn, chosen)
		if err == nil && setJIT && !p.shares.Load() {
			_, err = conn.Exec(ctx, "SET jit = off")
		}
		if err != nil {
			err = errors.Join(err, conn.Close(ctx))
		}
		return err
	}))
	p.db = sql.OpenDB(p)
	p.db.SetMaxOpenConns(p.most)
	p.db.SetMaxIdleConns(p.most)
	if p.most > 1 { // the only one of a handle would be missed
		p.db.SetConnMaxLifetime(connectionLife)
		p.db.SetConnMaxIdleTime(connectionIdle)
	}
	return p.db, nil
}

// recognize looks for a pooler: the session of the server is not the one that the connection is said to have. In one
// that others share, there are no prepared statements, and SET changes it for others.
func (p *pool) recognize(ctx context.Context, conn *pgx.Conn, chosen bool) error {
	if p.shares.Load() {
		return nil
	}
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil || string(results[0].Rows[0][0]) == strconv.FormatUint(uint64(conn.PgConn().PID()), 10) {
		return err
	}
	if !p.shares.Swap(true) && p.most > 1 {
		p.log.InfoContext(ctx, "a pooler such as PgBouncer is between this program and PostgreSQL: statements are not prepared")
	}
	if chosen {
		return nil
	}
	return errShares
}

// Connect opens a connection (driver.Connector). If the server refuses it because there are too many, the call waits
// for one of those that the handle has.
func (p *pool) Connect(ctx context.Context) (driver.Conn, error) {
	pause := backoff.Backoff{Initial: 20 * time.Millisecond, Max: 500 * time.Millisecond, Jitter: 1}
	until := time.Now().Add(refusedWait)
	p.mu.Lock()
	if time.Since(p.empty) < refusedWait {
		until = time.Time{} // another call has just waited in vain
	}
	p.mu.Unlock()
	for attempt := 1; ; attempt++ {
		conn, err := p.Connector.Connect(ctx)
		switch {
		case errors.Is(err, errShares):
			continue
		case !refused(err):
			return conn, err
		case p.lower(ctx):
			return nil, driver.ErrBadConn // on which database/sql waits for one of the others
		}
		if time.Now().After(until) {
			p.mu.Lock()
			p.empty = time.Now()
			p.mu.Unlock()
			return nil, err
		}
		if backoff.Sleep(ctx, pause.Wait(attempt)) != nil {
			return nil, err
		}
	}
}

// refused reports whether a server or a pooler has as many connections as it allows.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "53300" || strings.Contains(e.Message, "no more connections allowed"))
}

// lower bounds the handle to the connections that it has besides the one that was refused, and reports whether there
// are any.
func (p *pool) lower(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	others := p.db.Stats().OpenConnections - 1
	if others < 1 {
		return false
	}
	if p.raise == nil {
		p.raise = time.AfterFunc(raiseLimit, p.lift)
		p.log.WarnContext(ctx, "the database refuses further connections: calls wait for those that are open", "connections", others, "max_connections", p.most)
	}
	p.db.SetMaxOpenConns(others)
	return true
}

// lift lets the handle try one connection more.
func (p *pool) lift() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.raise == nil {
		return // closed
	}
	n := min(p.db.Stats().MaxOpenConnections+1, p.most)
	p.db.SetMaxOpenConns(n)
	p.db.SetMaxIdleConns(n)
	if n == p.most {
		p.raise = nil
		return
	}
	p.raise.Reset(raiseLimit)
}

// Close ends what lower has started (io.Closer); sql.DB.Close calls it.
func (p *pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.raise != nil {
		p.raise.Stop()
		p.raise = nil
	}
	return nil
}
