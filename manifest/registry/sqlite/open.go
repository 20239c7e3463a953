package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/ashlar-go/ashlar/internal/sqlitefile"
)

// Store is a registry.Store in an SQLite file. Create it with [Open].
type Store struct{ db *sqlitefile.Handles }

// schema creates the tables of version schemaVersion.
//
//go:embed schema.sql
var schema string

const schemaVersion = 1

// applicationID marks the file as one of this package ("mreg"), for programs that are given any file.
const applicationID = 0x6d726567

// Open opens the registry in a file. It creates the file, readable by its owner only, if there is none. The
// caller closes the store. Several processes may have the same file open.
func Open(ctx context.Context, path string) (*Store, error) {
	if path == "" || path == sqlitefile.Memory {
		return nil, errors.New("open a registry: name a file; use registry.MemStore to keep it in memory")
	}
	db, err := sqlitefile.Open(ctx, "sqlite", path, &sqlitefile.Options{Pragmas: []string{"cache_size(-32000)"}})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := sqlitefile.Migrate(ctx, db.Writer, func(db *sql.DB) error { return migrate(ctx, db) }); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return &Store{db: db}, nil
}

// migrate creates the tables of a new file.
func migrate(ctx context.Context, db *sql.DB) error {
	var application, version, tables int
	row := db.QueryRowContext(ctx, "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id a, pragma_user_version v")
	if err := row.Scan(&application, &version, &tables); err != nil {
		return err
	}
	switch {
	case tables == 0:
		_, err := db.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion))
		return err
	case application != applicationID:
		return errors.New("the file is another database, and not one of a registry")
	case version > schemaVersion:
		return fmt.Errorf("the file has version %d of the schema: this program knows %d, so use a newer one", version, schemaVersion)
	}
	return nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }
