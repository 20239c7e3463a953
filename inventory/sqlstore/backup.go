package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Backup copies the database into a new file, while others go on reading and writing. The
// file is whole when it appears under its name. It fails if there is one already, and for
// databases that have tools of their own for this.
func (s *Store) Backup(ctx context.Context, file string) error {
	return s.failure(ctx, "back up the inventory", Backup(ctx, s.reader, s.dialect, file))
}

// Backup is [Store.Backup] of a database that is not opened as a store, and whose schema may
// be of any version.
func Backup(ctx context.Context, db *sql.DB, d Dialect, file string) error {
	if d.Backup == "" {
		return fmt.Errorf("use the tools of %s, such as pg_dump", d.Name)
	}
	part := file + ".part"
	for _, name := range []string{file, part} {
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there already, or can't be looked at: name a new file", name)
		}
	}
	_, err := db.ExecContext(ctx, d.Backup, part)
	if err == nil {
		err = toDisk(part)
	}
	if err == nil {
		// Unlike a renaming, this fails if somebody else was quicker.
		err = os.Link(part, file)
	}
	if rest := os.Remove(part); err == nil || !errors.Is(rest, os.ErrNotExist) {
		err = errors.Join(err, rest)
	}
	return err
}

// toDisk returns when a file is on its disk. SQLite does not wait for that when it copies, and
// a copy that a loss of power cuts short must not have its name yet.
func toDisk(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
