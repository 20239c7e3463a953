package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// changeTimeout bounds each transaction of Change.
const changeTimeout = 10 * time.Minute

// Change calls f with an engine over the database of the settings, which servers may use at the same
// time. Each transaction may take up to ten minutes; on SQLite, other changes wait for it, for
// DATABASE_TIMEOUT at most. A nil log means slog.Default().
func Change(ctx context.Context, s *Settings, log *slog.Logger, f func(engine *records.Engine) error) (err error) {
	if s.DatabaseURL == ":memory:" {
		return errors.New("DATABASE_URL is :memory:, which only the running process can change: use a file")
	}
	own := *s
	own.DatabaseTimeout = max(s.DatabaseTimeout, changeTimeout)
	store, err := open(ctx, &own, inventory.Schema(), cmp.Or(log, slog.Default()))
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return f(records.New(store, nil))
}
