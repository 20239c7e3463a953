package sqlstore

import (
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

	mu        sync.Mutex
	statement string
	n, of     int // the number of the statement
}

// newProgress reports until the function end is called.
func newProgress(log *slog.Logger) *progress {
	p := &progress{log: log, began: time.Now(), statement: "wait for other processes"}
	stop, stopped := make(chan struct{}), make(chan struct{})
	p.end = func() { close(stop); <-stopped }
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(reportProgress)
		defer ticker.Stop()
		for reported := false; ; reported = true {
			select {
			case <-ticker.C:
				p.mu.Lock()
				p.log.Info("the database is being upgraded", "statement", p.statement, "number", p.n, "of", p.of, "elapsed", p.elapsed())
				p.mu.Unlock()
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
