package sqlstore

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Dialect describes SQLite or PostgreSQL to a store: make it with sqlite.Dialect or postgres.Dialect. A program that
// applies migrations itself gets the statements from it.
type Dialect struct {
	dialect.Spec

	packers *sync.Pool // of textOfChanges; set by New
}

// indexedBy follows the name of a table to use an index, if it is not empty.
func (d *Dialect) indexedBy(index string) string {
	if d.IndexedBy == "" || index == "" {
		return ""
	}
	return fmt.Sprintf(d.IndexedBy, index)
}

// placeholder returns the nth parameter of a statement that uses each parameter once.
func (d *Dialect) placeholder(n int) string {
	if d.Next != "" {
		return d.Next
	}
	return d.Parameter + strconv.Itoa(n)
}

// argument converts a value for the driver.
func (d *Dialect) argument(v any) any {
	if t, ok := v.(time.Time); ok {
		return d.Time(t.UTC())
	}
	return v
}
