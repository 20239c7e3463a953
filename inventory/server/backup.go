package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

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
