package sqlstore

import (
	"context"
	"database/sql"
	"io/fs"
	"time"
)

// Dialect is what a database does in a way of its own. It is data: there is no branch on
// the name of a database anywhere.
type Dialect struct {
	// Name is that of the database in goose: sqlite3, postgres.
	Name string
	// Migrations are the files of goose, in their order, that make the schema. Nil makes
	// nothing: the schema is there.
	Migrations fs.FS
	// Exclusive calls migrate with a handle to the database while no other process can migrate
	// it. Nil runs each migration in a transaction of its own, between Lock and Unlock.
	Exclusive func(ctx context.Context, db *sql.DB, migrate func(db *sql.DB) error) error
	// Lock and Unlock are statements with which a connection takes, waiting for it, and gives
	// back a lock that is for migrations only.
	Lock, Unlock string
	// Parameter is what stands before the number of a parameter: "?" or "$".
	Parameter string
	// Next is a parameter of statements in which each comes once, in order: "?". Empty is the
	// same as elsewhere.
	Next string
	// Rows are how many records one statement adds at most, up to 128, where that is quicker
	// than one by one. 0 is the same as 1.
	Rows int
	// Fold is a text with its ASCII letters made small, with %s for the text.
	Fold string
	// Contains and StartsWith are true when the first text holds, or begins with, the
	// second, byte by byte, with %[1]s and %[2]s for them.
	Contains, StartsWith string
	// Element is true when a list (JSON) has an element, with %[1]s and %[2]s for them.
	Element string
	// NullsFirst and NullsLast stand behind ASC and DESC of a column that may be null, so that
	// null comes before all values. Both are empty where it does anyway.
	NullsFirst, NullsLast string
	// ForUpdate stands behind a SELECT whose rows nobody else may change until the
	// transaction ends. Empty where there is one writer at a time.
	ForUpdate string
	// Aborts says that a transaction can't go on after a statement that failed, unless there
	// was a savepoint before.
	Aborts bool
	// NoLimit is what LIMIT takes for all rows: "-1" or "ALL".
	NoLimit string
	// Unindexed stands before a column in a condition for which no index is to be used: "+".
	// Empty leaves that to the database, which keeps statistics.
	Unindexed string
	// Backup copies the database into the file of its one parameter. Empty if it has tools of
	// its own for that.
	Backup string
	// Slots is how many rows share the count of what a list is filtered by, so that
	// writers do not wait for each other: 1 where there is one writer at a time.
	Slots int
	// Prepare says that the driver keeps no statements, so that the store must.
	Prepare bool
	// Time is a time as the driver takes it.
	Time func(t time.Time) any
	// Fault says what an error of the driver means.
	Fault func(err error) Fault
}

// Fault is what an error of a driver means.
type Fault struct {
	Kind FaultKind
	// Constraint is the name of the constraint that is broken, if the database tells it.
	Constraint string
	// Columns are those of the unique key that is broken, if the database tells them
	// instead.
	Columns []string
}

// FaultKind is a kind of fault.
type FaultKind uint8

const (
	Failure    FaultKind = iota // anything else
	Unique                      // a unique key is broken, or a primary one
	ForeignKey                  // what is referred to is not there
	Again                       // the transaction has to be run again: a deadlock, a failure to serialize
	Down                        // the database can't be reached, or can't work just now
)
