package sqlite

import (
	"errors"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// Dialect is what is SQLite's own. It adds one record with each statement: one that adds
// several keeps what was in the pages it touches, so as to undo itself, and that takes
// longer than the statements that it saves.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Name:       "sqlite3",
		Migrations: sqlstore.Migrations("sqlite"),
		Exclusive:  "BEGIN IMMEDIATE",
		Parameter:  "?",
		Next:       "?",
		Fold:       "lower(%s)", // of ASCII letters only
		Contains:   "instr(%[1]s, %[2]s) > 0",
		StartsWith: "substr(%[1]s, 1, length(%[2]s)) = %[2]s",
		Element:    "EXISTS (SELECT 1 FROM json_each(%[1]s) WHERE value = %[2]s)",
		NoLimit:    "-1",
		Unindexed:  "+",
		Backup:     "VACUUM INTO ?1",
		Slots:      1,
		Prepare:    true,
		Time:       func(t time.Time) any { return t.UnixMicro() },
		Fault:      fault,
	}
}

// fault goes by the codes of SQLite. Only the text names the columns of a unique key, and
// nothing those of a foreign one.
func fault(err error) sqlstore.Fault {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return sqlstore.Fault{}
	}
	switch e.Code() {
	case codes.SQLITE_CONSTRAINT_UNIQUE, codes.SQLITE_CONSTRAINT_PRIMARYKEY:
		return sqlstore.Fault{Kind: sqlstore.Unique, Columns: columns(e.Error())}
	case codes.SQLITE_CONSTRAINT_FOREIGNKEY:
		return sqlstore.Fault{Kind: sqlstore.ForeignKey}
	}
	switch e.Code() & 0xff { // the primary code
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR,
		codes.SQLITE_CANTOPEN, codes.SQLITE_NOMEM, codes.SQLITE_PROTOCOL, codes.SQLITE_READONLY:
		return sqlstore.Fault{Kind: sqlstore.Down}
	}
	return sqlstore.Fault{}
}

// busy says that a connection was turned away because another one was writing.
func busy(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == codes.SQLITE_BUSY
}

// columns are those in "... UNIQUE constraint failed: links.a_interface_id,
// links.b_interface_id (2067)".
func columns(text string) []string {
	_, list, _ := strings.Cut(text, "constraint failed: ")
	if i := strings.LastIndex(list, "failed: "); i >= 0 {
		list = list[i+len("failed: "):]
	}
	list, _, _ = strings.Cut(list, " (")
	var names []string
	for part := range strings.SplitSeq(list, ", ") {
		_, name, _ := strings.Cut(part, ".")
		names = append(names, name)
	}
	return names
}
