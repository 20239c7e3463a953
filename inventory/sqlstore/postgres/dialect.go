package postgres

import (
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// lock is the number of the lock for migrations: one that nobody else is likely to take.
const lock = "4707185602417310"

// Dialect is what is PostgreSQL's own.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Name:       "postgres",
		Migrations: sqlstore.Migrations("postgres"),
		Lock:       "SELECT pg_advisory_lock(" + lock + ")",
		Unlock:     "SELECT pg_advisory_unlock(" + lock + ")",
		Parameter:  "$",
		Rows:       128,
		Fold:       "lower(%s)", // of ASCII letters only, by the collation of the columns
		Contains:   "strpos(%[1]s, %[2]s) > 0",
		// The casts say which length it is: CockroachDB has one for bytes and one for bits too.
		StartsWith: "left(%[1]s, length(%[2]s::text)) = %[2]s::text",
		Element:    "%[1]s @> to_jsonb(%[2]s::text)",
		NullsFirst: " NULLS FIRST",
		NullsLast:  " NULLS LAST",
		ForUpdate:  " FOR UPDATE",
		Aborts:     true,
		NoLimit:    "ALL",
		Slots:      16,
		Time:       func(t time.Time) any { return t },
		Fault:      fault,
	}
}

// fault goes by the codes of PostgreSQL.
func fault(err error) sqlstore.Fault {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return sqlstore.Fault{Kind: lost(err)}
	}
	switch e.Code {
	case "23505":
		return sqlstore.Fault{Kind: sqlstore.Unique, Constraint: e.ConstraintName}
	case "23503":
		return sqlstore.Fault{Kind: sqlstore.ForeignKey, Constraint: e.ConstraintName}
	case "40001", "40P01":
		return sqlstore.Fault{Kind: sqlstore.Again}
	case "25006", // a replica: the database has changed places
		"55P03", "57014": // a lock, or an answer, took longer than the server allows
		return sqlstore.Fault{Kind: sqlstore.Down}
	}
	switch e.Code[:min(len(e.Code), 2)] {
	case "08", "53", "57", "58": // connections, resources, shutdown, input and output
		return sqlstore.Fault{Kind: sqlstore.Down}
	}
	return sqlstore.Fault{}
}

// lost says whether an error is that of a connection.
func lost(err error) sqlstore.FaultKind {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case connecting, network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		strings.Contains(err.Error(), "conn closed"), strings.Contains(err.Error(), "conn busy"):
		return sqlstore.Down
	}
	return sqlstore.Failure
}
