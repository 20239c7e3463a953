package sqlstore

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"
)

// reportProgress is the interval at which the progress of an upgrade is logged.
const reportProgress = 2 * time.Second

// progress logs what an upgrade of the schema does, while it takes long.
type progress struct {
	log   *slog.Logger
	began time.Time
	end   func()
	made  map[string]bool // statements of committed transactions, which are not run again

	mu        sync.Mutex
	statement string
	n, of     int                                       // the number of the statement
	holders   func(ctx context.Context) (string, error) // describes who keeps the statement waiting, nil if unknown
}

// newProgress reports until the function end is called.
func newProgress(log *slog.Logger) *progress {
	p := &progress{log: log, began: time.Now(), statement: "wait for other processes", made: map[string]bool{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	p.end = func() { close(stop); <-stopped }
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(reportProgress)
		defer ticker.Stop()
		for reported := false; ; reported = true {
			select {
			case <-ticker.C:
				p.report()
			case <-stop:
				if reported {
					p.log.Info("the upgrade of the database has ended", "elapsed", p.elapsed())
				}
				return
			}
		}
	}()
	return p
}

// report logs the statement that runs, and who holds a lock that it waits for.
func (p *progress) report() {
	p.mu.Lock()
	holders, args := p.holders, []any{"statement", p.statement, "number", p.n, "of", p.of, "elapsed", p.elapsed()}
	p.mu.Unlock()
	if holders != nil {
		ctx, cancel := context.WithTimeout(context.Background(), reportProgress)
		defer cancel()
		if held, err := holders(ctx); err == nil && held != "" {
			args = append(args, "lock_held_by", held)
		}
	}
	p.log.Info("the database is being upgraded", args...)
}

// watch makes report look for the holders of the locks that a transaction waits for, on another connection.
func (p *progress) watch(ctx context.Context, tx *sql.Tx, db *sql.DB, d *Dialect) error {
	if d.Session == "" {
		return nil
	}
	var session int64
	if err := tx.QueryRowContext(ctx, d.Session).Scan(&session); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders = func(ctx context.Context) (held string, err error) {
		err = db.QueryRowContext(ctx, d.Holders, session).Scan(&held)
		return held, err
	}
	return nil
}

func (p *progress) elapsed() time.Duration { return time.Since(p.began).Round(time.Second) }

// run notes that a statement begins, the nth from 1.
func (p *progress) run(n, of int, statement string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(statement) > 80 {
		statement = statement[:80] + "..."
	}
	p.statement, p.n, p.of = statement, n, of
}
