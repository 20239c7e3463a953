// Package dialect describes the two databases of sqlstore, SQLite and PostgreSQL, as data. Each is filled in by
// its driver, sqlstore/sqlite or sqlstore/postgres.
package dialect

import (
	"context"
	"database/sql"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Spec describes how a database differs from the other one. The store has no branches on the name of a database.
type Spec struct {
	// Name is the name of the database in migrations: sqlite, postgres.
	Name string
	// Namespace is the prefix of the names of tables in a namespace, with %s for it.
	Namespace string
	// DDL creates and changes tables. The zero value expects that they exist, as in tests with a mock.
	DDL DDL
	// Exclusive calls migrate with a handle to the database while no other process can migrate
	// it. Nil migrates in a transaction that begins with Lock.
	Exclusive func(ctx context.Context, db *sql.DB, migrate func(db *sql.DB) error) error
	// Lock are the first statements of a transaction that migrates. They wait for other such transactions, and bound
	// how long it waits for each other lock, since calls of others wait behind it. Locks of a session would not do: a
	// pooler gives each transaction of a connection another session.
	Lock []string
	// Session returns the number of the session of a transaction, and Holders describes those that hold a lock for
	// which the session in its parameter waits. Empty if the database does not tell.
	Session, Holders string
	// Parameter is the prefix of a numbered parameter: "?" or "$".
	Parameter string
	// Next is a parameter of statements that use each parameter once, in order: "?". Empty
	// uses numbered parameters.
	Next string
	// Contains and StartsWith hold if the first string contains, or begins with, the second,
	// byte by byte, with %[1]s and %[2]s for them.
	Contains, StartsWith string
	// Elements are the strings in a JSON array, with %s for it, as one string, in which the character
	// U+001F stands between them.
	Elements string
	// Element holds if a JSON array has an element, with %[1]s and %[2]s for them.
	Element string
	// NullsFirst and NullsLast follow ASC and DESC of a nullable column, so that null sorts
	// before all values. Both are empty if the database does that by default.
	NullsFirst, NullsLast string
	// ForUpdate follows a SELECT to lock its rows until the transaction ends. Empty for a
	// database with one writer at a time.
	ForUpdate string
	// ForShare follows the condition of a SELECT to keep other transactions from changing its rows
	// until this one ends, while they may read and lock them too. It has a name as its second
	// parameter, and waits for Serialize with that name. Empty for a database with one writer at a
	// time.
	ForShare string
	// Serialize is a statement that waits until no other transaction runs that has executed it, or
	// ForShare, with the same name, its only parameter. Those wait in the order of arrival. Empty
	// for a database with one writer at a time.
	Serialize string
	// ChainRow is a row of VALUES with a position, an id and a hash, with %s for each, for a
	// database whose WITH can contain an UPDATE. Empty for others.
	ChainRow string
	// CommitAsync is an expression after which the commit of the transaction does not wait until
	// it is on disk, or wherever else the settings of the database require it. Empty for a database
	// with one writer at a time.
	//
	// Flush is a SELECT in a transaction of its own, whose commit waits for all earlier ones as the
	// settings require. Its parameter is a JSON array of objects with the seq and the hash, in
	// hexadecimal digits, of entries of the audit log; %s are the tables of their positions and of the last one. It returns
	// how many of them exist.
	CommitAsync, Flush string
	// TakeLock is a statement after BEGIN that waits for the lock of writers, with %s for a table. Empty if BEGIN does.
	TakeLock string
	// Aborts says that a transaction can't continue after a failed statement, unless it rolls
	// back to a savepoint.
	Aborts bool
	// IndexedBy follows the name of a table to use an index, with %s for it. Empty leaves the
	// choice to the database.
	IndexedBy string
	// Unindexed precedes a column in a condition for which no index is to be used: "+". Empty
	// leaves the choice to a database that keeps statistics.
	Unindexed string
	// JoinEach follows FROM and finds the rows of a table for each row of a SELECT, by an index: with %[1]s for
	// the SELECT and its alias, %[2]s for the table, %[3]s for the condition, and %[4]s for the alias of the table.
	JoinEach string
	// OneByOne ends the SELECT of an EXISTS that is to be executed for each row, by an index, instead of a join
	// with all rows. Empty for a database that never joins them.
	OneByOne string
	// Complete makes a SELECT with a limit find all its rows before it returns the first, with
	// %s for the statement. It is for drivers that stop a statement when its context ends until
	// its first row only. Empty for others.
	Complete string
	// Backup copies the database to the file in its only parameter. Empty if the database has
	// its own tools for that.
	Backup string
	// Reserve makes a table of some megabytes that keeps space, with %[1]s for its name, unless there is one. Empty keeps
	// none.
	Reserve string
	// Dump copies the database to the empty file with a program, instead of Backup. Nil for others.
	Dump func(ctx context.Context, db *sql.DB, file string) error
	// Position returns the position of the newest change on disk, and Replayed the one that a replica has reached.
	// Empty if there are no replicas.
	Position, Replayed string
	// Lag returns how many seconds a replica lags behind, as a float. Empty if there are none.
	Lag string
	// Check checks the database and returns one string, "ok" if it is not damaged. Empty if it
	// has its own tools for that.
	Check string
	// Size returns the size of the database in bytes. Empty if it can't be known cheaply.
	Size string
	// Slots is the number of rows that share a count, so that writers seldom wait for each
	// other: 1 for a database with one writer at a time.
	Slots int
	// Replan is an argument before those of a list with conditions that makes the database plan it for their
	// values, instead of once for all. Nil if it always does, or never.
	Replan any
	// Analyze renews the statistics of a table by which the database plans, with %s for it. Empty if it keeps none.
	Analyze string
	// Prepare says that the driver does not cache prepared statements, so that the store does.
	Prepare bool
	// Time converts a time for the driver.
	Time func(t time.Time) any
	// Classify returns what an error of the driver means.
	Classify func(err error) Error
}

// Error is the meaning of an error of a driver.
type Error struct {
	Kind Kind
	// Constraint is the name of the violated constraint, if the database reports it.
	Constraint string
	// Columns are the columns of the violated unique key, if the database reports them instead.
	Columns []string
}

// Kind is a kind of errors of a driver.
type Kind uint8

const (
	Other               Kind = iota // any other error
	UniqueViolation                 // of a unique key or the primary key
	ForeignKeyViolation             // a reference to a record that does not exist
	Retryable                       // the transaction must be run again: a deadlock, a serialization failure
	Unavailable                     // the database can't be reached, or can't work at the moment
	Full                            // there is no space for the change
	Damaged                         // the files of the database are damaged
	NoMemory                        // the database within the process has no memory left
	SchemaChanged                   // there is no such table or column
	Locked                          // a lock was not free within the time that the connection sets
)

// DDL is the data definition language of a database, as far as the tables of a schema need it.
type DDL struct {
	// Types are the types of columns by the kind of the field, as the statement Columns returns
	// them.
	Types map[records.Kind]string
	// Zero are the literals that existing records get in an added column that may not be null.
	Zero map[records.Kind]string
	// Checks are conditions that the values of a kind need, with %s for the column.
	Checks map[records.Kind]string
	// Bytes is the type of columns of bytes, and NoBytes the literal of an empty one.
	Bytes, NoBytes string
	// Now is an expression for the current time, as in a column.
	Now string
	// Begin are the statements before changes of tables while the store is in use: they wait for
	// other processes that change tables, and bound how long calls wait.
	Begin []string
	// Options follows the columns of a CREATE TABLE.
	Options string
	// In Columns, Indexes and Constraints, {schema} is an expression for the schema of the tables, and {prefix} one for
	// what precedes the names of tables and indexes in statements.
	//
	// Columns is a SELECT of all columns: the table, the name, the type, and 1 for NOT NULL or 0.
	Columns string
	// Indexes is a SELECT of the tables, the names and the conditions of all indexes.
	Indexes string
	// Constraints is a SELECT of all checks and foreign keys: the table, the column, empty for several, the
	// name, and the definition. Empty for a database that has them in Definitions only.
	Constraints string
	// Definitions is a SELECT of the names of all tables and the statements that created them, for a database
	// whose ALTER TABLE can't change constraints. Their text is changed then. Empty for others.
	Definitions string
	// Namespace creates the schema of a namespace, unless it exists, with %[1]s for its name.
	Namespace string
	// Search is the index for searches.
	Search *Search
	// Include says that an index can have columns that are no part of its key.
	Include bool
	// IndexBytes is the most bytes of the values in one index. 0 is no limit.
	IndexBytes int
}

// Search is an index of parts of strings, for searches. In the statements, {name} is its name,
// {table} the table, {text} an expression with their folded
// values, and {schema} what Available returned.
type Search struct {
	// Available is a SELECT that returns one string if the database can have the index. Empty if
	// every database can.
	Available string
	// Create makes the index and fills it.
	Create []string
	// Update brings it up to date at the end of a transaction. The parameter of each statement is
	// a JSON array of the ids of changed records. Empty if it is always up to date.
	Update []string
	// Drop removes it.
	Drop []string
	// Separator is the expression for the character U+001F, which stands between the values.
	Separator string
	// Match is the condition that a record matches, with %s for the pattern.
	Match string
	// Count is a SELECT of the number of records that match, with %s for the pattern and for the
	// number at which it may end. Empty leaves the choice of how to read a page to the database.
	Count string
	// Pattern returns the pattern for a folded string.
	Pattern func(s string) string
	// Pair is an expression with the pattern for a folded string of two characters, with %s for the
	// string. Empty if the index does not find it.
	Pair string
	// Version is part of the name of the index. Another one makes it again.
	Version string
}
