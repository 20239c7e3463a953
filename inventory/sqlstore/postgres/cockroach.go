package postgres

import (
	"context"
	"database/sql"
	"io"
	"io/fs"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// Cockroach is the dialect of CockroachDB: that of PostgreSQL without collations in the
// migrations. [Open] finds out by itself which one it needs.
func Cockroach() sqlstore.Dialect {
	d := Dialect()
	d.Migrations = uncollated{d.Migrations}
	return d
}

// dialectOf asks a server what it is.
func dialectOf(ctx context.Context, db *sql.DB) (sqlstore.Dialect, error) {
	var version string
	err := db.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	if strings.Contains(version, "CockroachDB") {
		return Cockroach(), err
	}
	return Dialect(), err
}

// uncollated are files of SQL without their collations.
type uncollated struct{ fs.FS }

// Open opens a file or a directory.
func (u uncollated) Open(name string) (fs.File, error) {
	file, err := u.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return rewritten{file, strings.NewReader(strings.ReplaceAll(string(text), ` COLLATE "C"`, ""))}, nil
}

// rewritten is a file with another text.
type rewritten struct {
	fs.File
	text *strings.Reader
}

func (r rewritten) Read(p []byte) (int, error) { return r.text.Read(p) }
