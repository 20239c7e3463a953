package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// Backup copies the database of a file into a new one, as [sqlstore.Store.Backup] does, and
// changes nothing of it: its schema may be that of an older program, or of a newer one.
func Backup(ctx context.Context, path, file string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return err // or it would be made
	}
	writer, reader, err := handles(path, &Options{})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, reader.Close(), writer.Close()) }()
	return sqlstore.Backup(ctx, reader, Dialect(), file)
}
