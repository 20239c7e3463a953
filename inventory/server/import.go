package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// changeTimeout bounds each transaction of Change.
const changeTimeout = 10 * time.Minute

// Change calls f with an engine over the database of the settings, which servers may use at the same
// time. Each transaction may take up to ten minutes; on SQLite, other changes wait for it, for
// DATABASE_TIMEOUT at most. A nil log means slog.Default().
func Change(ctx context.Context, s *Settings, log *slog.Logger, f func(engine *records.Engine) error) error {
	if s == nil {
		return errNoSettings
	}
	own := *s
	own.DatabaseTimeout = max(s.DatabaseTimeout, changeTimeout)
	return withStore(ctx, &own, log, "change", func(store records.Store) error { return f(records.New(store, nil)) })
}
