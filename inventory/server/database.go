package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// openStore opens the database of DATABASE_URL, unless the options have a store.
func (s *Server) openStore(ctx context.Context) error {
	if s.store != nil {
		return nil
	}
	options := &sqlstore.Options{Timeout: s.settings.DatabaseTimeout, Log: s.log}
	if s.tracing != nil {
		options.Span = s.tracing.StartChild
	}
	store, err := open(ctx, s.settings, s.schema, options)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	s.store = store
	s.closers = append(s.closers, store.Close)
	return nil
}

func open(ctx context.Context, s *Settings, schema *records.Schema, options *sqlstore.Options) (*sqlstore.Store, error) {
	var parts []records.Part
	if s.UniqueHostnames {
		parts = append(parts, inventory.GloballyUniqueHostnames())
	}
	if s.CaseSensitiveHostnames {
		parts = append(parts, inventory.CaseSensitiveHostnames())
	}
	schema, err := schema.With(parts...)
	if err != nil {
		return nil, err
	}
	if isPostgres(s.DatabaseURL) {
		return postgres.Open(ctx, s.DatabaseURL, schema, &postgres.Options{ReadURL: s.DatabaseReadURL, MaxConns: s.DatabaseMaxConnections, Store: options})
	}
	return sqlite.Open(ctx, s.DatabaseURL, schema, &sqlite.Options{Log: options.Log, Store: options})
}

// Database describes where the records are stored, without a password.
func (s *Settings) Database() string {
	if !isPostgres(s.DatabaseURL) {
		return s.DatabaseURL
	}
	u, err := url.Parse(s.DatabaseURL)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + u.Host + u.Path
}

// VerifyAudit checks the audit log of the database in the settings (records.VerifyAudit). It may
// run beside a server. A nil log means slog.Default().
func VerifyAudit(ctx context.Context, s *Settings, log *slog.Logger, opts *records.VerifyOptions) (r *records.AuditReport, err error) {
	err = withStore(ctx, s, log, "read", func(store records.Store) (err error) {
		r, err = records.VerifyAudit(ctx, store, opts)
		return err
	})
	return r, err
}

// withStore calls f with the database of the settings, which servers may use at the same time. verb says what f
// does with it: read or change. A nil log means slog.Default().
func withStore(ctx context.Context, s *Settings, log *slog.Logger, verb string, f func(store records.Store) error) (err error) {
	if s == nil {
		return errNoSettings
	}
	if s.DatabaseURL == ":memory:" {
		return fmt.Errorf("DATABASE_URL is :memory:, which only the running process can %s: use a file", verb)
	}
	store, err := open(ctx, s, inventory.Schema(), &sqlstore.Options{Timeout: s.DatabaseTimeout, Log: cmp.Or(log, slog.Default())})
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return f(store)
}

// mustExist refuses a SQLite file that does not exist: opening would create it.
func mustExist(s *Settings) error {
	if s == nil {
		return errNoSettings
	}
	if isPostgres(s.DatabaseURL) || s.DatabaseURL == ":memory:" {
		return nil
	}
	if _, err := os.Stat(s.DatabaseURL); err != nil {
		return fmt.Errorf("DATABASE_URL: %w: name the database of the server", err)
	}
	return nil
}

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

// Backup copies the database of the settings to a file that must not exist, even while a server uses the database. It
// does not migrate the schema. A SQLite database is copied as it is (sqlite.Backup); one of PostgreSQL becomes a dump of
// pg_dump, which is read back (postgres.Backup).
func Backup(ctx context.Context, s *Settings, file string) error {
	switch {
	case s == nil:
		return errNoSettings
	case isPostgres(s.DatabaseURL):
		return postgres.Backup(ctx, s.DatabaseURL, file)
	case s.DatabaseURL == ":memory:":
		return errors.New("DATABASE_URL is :memory:, which only the running process can read: use a file")
	}
	return sqlite.Backup(ctx, s.DatabaseURL, file)
}

const (
	backupName  = "inventory-20060102T150405Z.db" // of a copy, by its time
	backupRetry = 5 * time.Minute                 // after a copy that failed, unless BACKUP_INTERVAL is shorter
	abandoned   = 24 * time.Hour                  // after which an incomplete copy is that of a process that was killed
)

// keepBackups copies the database to BACKUP_DIR every BACKUP_INTERVAL, and deletes all but the newest copies, until ctx
// ends. The time of the last copy is that in its name, so that a restart makes none too early.
func (s *Server) keepBackups(ctx context.Context) error {
	if s.settings.BackupDir == "" {
		return nil
	}
	store, ok := s.store.(interface {
		Backup(ctx context.Context, file string) error
	})
	if !ok {
		return errors.New("BACKUP_DIR: the store of this program makes no copies: unset it")
	}
	wait := time.Duration(0)
	if copies, _ := backups(s.settings.BackupDir); len(copies) > 0 {
		last, _ := time.Parse(backupName, copies[len(copies)-1])
		wait = time.Until(last.Add(s.settings.BackupInterval))
		s.statistics.succeeded("backup", last)
	}
	for {
		if backoff.Sleep(ctx, wait) != nil {
			return nil
		}
		wait = s.settings.BackupInterval
		err := s.copyTo(ctx, store.Backup)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.log.Error("the database could not be copied to BACKUP_DIR, which is tried again", "dir", s.settings.BackupDir, "err", err)
			wait = min(wait, backupRetry)
		}
		s.statistics.ran("backup", err)
	}
}

// copyTo makes a copy and deletes old ones.
func (s *Server) copyTo(ctx context.Context, backup func(ctx context.Context, file string) error) error {
	dir, began := s.settings.BackupDir, time.Now()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "inventory-*.db.part"))
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(part)
		}
	}
	file := filepath.Join(dir, began.UTC().Format(backupName))
	if err := backup(ctx, file); err != nil {
		return err
	}
	copies, err := backups(dir)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range copies[:max(len(copies)-s.settings.BackupKeep, 0)] {
		failed = errors.Join(failed, os.Remove(filepath.Join(dir, name)))
	}
	s.log.Info("the database is copied", "file", file, "duration", time.Since(began).Round(time.Millisecond), "kept", min(len(copies), s.settings.BackupKeep))
	return failed
}

// backups returns the names of the copies in a directory, the oldest first. Other files are none.
func backups(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if _, err := time.Parse(backupName, e.Name()); err == nil && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}
