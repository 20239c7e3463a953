package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Errors of the database.
var (
	errDown    = errors.New("connection lost")
	errRetry   = errors.New("deadlock")
	errKey     = errors.New("duplicate key")
	errUnknown = errors.New("something else")
)

// mockDialect returns the dialect of a database with these errors.
func mockDialect() sqlstore.Dialect {
	return sqlstore.Dialect{Spec: dialect.Spec{
		Parameter: "$", Contains: "%s %s", StartsWith: "%s %s", Element: "%s %s", Elements: "%s",
		ForUpdate: " FOR UPDATE", Aborts: true, Slots: 1,
		Time: func(t time.Time) any { return t },
		Classify: func(err error) dialect.Error {
			switch {
			case errors.Is(err, errDown):
				return dialect.Error{Kind: dialect.Unavailable}
			case errors.Is(err, errRetry):
				return dialect.Error{Kind: dialect.Retryable}
			case errors.Is(err, errKey):
				return dialect.Error{Kind: dialect.UniqueViolation, Constraint: "secrets_name_key"}
			}
			return dialect.Error{}
		},
	}}
}

// mocked returns a store on a mock of a database. All expected statements must come, and all
// connections must be released.
func mocked(t *testing.T) (*sqlstore.Store, sqlmock.Sqlmock) {
	t.Helper()
	db, mock, err := sqlmock.New()
	require.NoError(t, err)
	store, err := sqlstore.New(t.Context(), db, db, mockDialect(), inventory.Schema(), &sqlstore.Options{Attempts: 3})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, mock.ExpectationsWereMet())
		require.Zero(t, db.Stats().InUse, "connections in use")
		mock.ExpectClose()
		require.NoError(t, store.Close())
	})
	return store, mock
}

func secret(n int) *inventory.Secret {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	return &inventory.Secret{
		Base: records.Base{ID: fmt.Sprintf("018f4c2e-7b1a-7c3d-9e4f-%012d", n), CreatedAt: at, UpdatedAt: at, Version: 1},
		Name: fmt.Sprint("name", n), Value: "x",
	}
}

// row returns the row of a secret.
func row(s *inventory.Secret) *sqlmock.Rows {
	return sqlmock.NewRows([]string{"id", "created_at", "updated_at", "version", "name", "value"}).
		AddRow(s.ID, s.CreatedAt, s.UpdatedAt, s.Version, s.Name, s.Value)
}

// steps returns the statements of a transaction with one change of each kind. Each expects its
// statement, which fails with the error, or succeeds for nil.
func steps() []func(sqlmock.Sqlmock, error) {
	exec := func(text string) func(sqlmock.Sqlmock, error) {
		return func(mock sqlmock.Sqlmock, err error) {
			e := mock.ExpectExec(text)
			if err != nil {
				e.WillReturnError(err)
				return
			}
			e.WillReturnResult(sqlmock.NewResult(0, 1))
		}
	}
	query := func(text string, rows *sqlmock.Rows) func(sqlmock.Sqlmock, error) {
		return func(mock sqlmock.Sqlmock, err error) {
			e := mock.ExpectQuery(text)
			if err != nil {
				e.WillReturnError(err)
				return
			}
			e.WillReturnRows(rows)
		}
	}
	return []func(sqlmock.Sqlmock, error){
		func(mock sqlmock.Sqlmock, err error) { mock.ExpectBegin().WillReturnError(err) },
		exec("^SAVEPOINT item"),
		exec("^INSERT INTO secrets"),
		exec("^INSERT INTO secrets"),
		query("^SELECT .* FROM secrets WHERE .*id IN", row(secret(5))),
		query("^SELECT .* FROM secrets WHERE id", row(secret(2))),
		exec("^RELEASE SAVEPOINT item"),
		exec("^SAVEPOINT item"),
		exec("^UPDATE secrets SET version = .*, name = "),
		query("^DELETE FROM secrets", sqlmock.NewRows([]string{"id"}).AddRow(secret(3).ID)),
		exec("^INSERT INTO tallies"),
		func(mock sqlmock.Sqlmock, err error) { mock.ExpectCommit().WillReturnError(err) },
	}
}

// changes makes the changes of the steps.
func changes(ctx context.Context) func(records.Tx) error {
	return func(tx records.Tx) error {
		if err := tx.Create(ctx, secret(1), secret(4)); err != nil {
			return err
		}
		secrets := records.Of[inventory.Secret](inventory.Schema())
		if err := tx.(records.Prefetcher).Prefetch(ctx, secrets, []string{secret(5).ID, secret(6).ID}); err != nil {
			return err
		}
		if _, err := tx.Get(ctx, secrets, secret(5).ID); err != nil { // without a query
			return err
		}
		renamed := secret(2)
		renamed.Name, renamed.Version = "other", 2
		if err := tx.Update(ctx, renamed, 1); err != nil {
			return err
		}
		return tx.Delete(ctx, secrets, secret(3).ID, 1, nil)
	}
}

// expect has all steps succeed, except one.
func expect(mock sqlmock.Sqlmock, failing int, err error) {
	all := steps()
	for i, step := range all {
		if i == failing {
			step(mock, err)
			if i > 0 && i < len(all)-1 {
				mock.ExpectRollback()
			}
			return
		}
		step(mock, nil)
	}
}

// TestFailures: a transaction that fails at any step is rolled back, releases its connection,
// and returns an error of the right kind.
func TestFailures(t *testing.T) {
	t.Parallel()
	for step := range steps() {
		for _, cause := range []error{errDown, errUnknown} {
			t.Run(fmt.Sprint(step, " ", cause), func(t *testing.T) {
				t.Parallel()
				store, mock := mocked(t)
				expect(mock, step, cause)
				err := store.Change(t.Context(), changes(t.Context()))
				require.ErrorIs(t, err, cause)
				require.Equal(t, errors.Is(cause, errDown), records.KindOf(err) == records.Unavailable)
				require.Equal(t, errors.Is(cause, errUnknown), records.KindOf(err) == 0)
			})
		}
	}
}

// TestRetry: a transaction that the database aborts at any step is run again, a bounded number
// of times.
func TestRetry(t *testing.T) {
	t.Parallel()
	for step := range steps() {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			store, mock := mocked(t)
			expect(mock, step, errRetry)
			expect(mock, -1, nil)
			require.NoError(t, store.Change(t.Context(), changes(t.Context())))
		})
	}
	t.Run("bounded", func(t *testing.T) {
		t.Parallel()
		store, mock := mocked(t)
		for range 3 {
			expect(mock, 2, errRetry)
		}
		err := store.Change(t.Context(), changes(t.Context()))
		require.Equal(t, records.Unavailable, records.KindOf(err))
		require.ErrorIs(t, err, errRetry)
	})
}

// TestTransactionContinues: a violated constraint rolls back its own call only.
func TestTransactionContinues(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	all := steps()
	all[0](mock, nil)
	all[1](mock, nil)
	all[2](mock, errKey)
	mock.ExpectExec("^ROLLBACK TO SAVEPOINT item").WillReturnResult(sqlmock.NewResult(0, 0))
	all[6](mock, nil)
	all[1](mock, nil)
	all[2](mock, nil)
	all[10](mock, nil)
	all[11](mock, nil)
	err := store.Change(t.Context(), func(tx records.Tx) error {
		err := tx.Create(t.Context(), secret(1))
		require.Equal(t, records.Conflict, records.KindOf(err))
		require.Equal(t, "Name already exists", err.Error())
		return tx.Create(t.Context(), secret(2))
	})
	require.NoError(t, err)
}

// TestPanic: a panic rolls the transaction back.
func TestPanic(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectRollback()
	require.PanicsWithValue(t, "defect", func() {
		_ = store.Change(t.Context(), func(records.Tx) error { panic("defect") })
	})
}

// TestRollbackFails: an error of a rollback does not hide its cause.
func TestRollbackFails(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectRollback().WillReturnError(errUnknown)
	own := errors.New("refused")
	err := store.Change(t.Context(), func(records.Tx) error { return own })
	require.ErrorIs(t, err, own)
	require.ErrorIs(t, err, errUnknown)
}

// TestReading: errors before, between and after the rows are returned.
func TestReading(t *testing.T) {
	t.Parallel()
	r := records.Of[inventory.Secret](inventory.Schema())
	for name, respond := range map[string]func(*sqlmock.ExpectedQuery){
		"query": func(q *sqlmock.ExpectedQuery) { q.WillReturnError(errDown) },
		"row":   func(q *sqlmock.ExpectedQuery) { q.WillReturnRows(row(secret(1)).RowError(0, errDown)) },
		"close": func(q *sqlmock.ExpectedQuery) { q.WillReturnRows(row(secret(1)).CloseError(errDown)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, mock := mocked(t)
			respond(mock.ExpectQuery("^SELECT .* FROM secrets WHERE id"))
			_, err := store.Get(t.Context(), r, secret(1).ID)
			require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
			respond(mock.ExpectQuery("^SELECT .* FROM secrets ORDER BY id"))
			_, err = store.List(t.Context(), &records.Query{Resource: r})
			require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
		})
	}
	t.Run("values of other types", func(t *testing.T) {
		t.Parallel()
		store, mock := mocked(t)
		for _, bad := range []*sqlmock.Rows{
			sqlmock.NewRows([]string{"1", "2", "3", "4", "5", "6"}).AddRow("x", "yesterday", time.Now(), int64(1), "x", "x"),
			sqlmock.NewRows([]string{"1", "2", "3", "4", "5", "6"}).AddRow("x", time.Now(), time.Now(), 1.5, "x", "x"),
			sqlmock.NewRows([]string{"1", "2", "3", "4", "5", "6"}).AddRow("x", time.Now(), time.Now(), int64(1), nil, "x"),
			sqlmock.NewRows([]string{"1", "2", "3", "4", "5", "6"}).AddRow("x", time.Now(), time.Now(), int64(1), true, "x"),
			sqlmock.NewRows([]string{"1", "2"}).AddRow("x", "x"),
		} {
			mock.ExpectQuery("^SELECT").WillReturnRows(bad)
			_, err := store.Get(t.Context(), r, "x")
			require.Error(t, err)
			require.Zero(t, records.KindOf(err))
		}
	})
}

// TestUnknownComparison: a comparison that the package does not know is not ignored.
func TestUnknownComparison(t *testing.T) {
	t.Parallel()
	store, _ := mocked(t)
	r := records.Of[inventory.Device](inventory.Schema())
	for _, name := range []string{"notes", "status"} { // without counts, and with them
		q := &records.Query{Resource: r, Filters: []records.Filter{{Field: r.KeyField(name), Op: records.Covers, Value: "x"}}, Count: true, Limit: 1}
		require.PanicsWithValue(t, "sqlstore: unknown comparison covers of "+name, func() { _, _ = store.List(t.Context(), q) })
	}
}

// TestEmptyPage: a page without a row for its total is read again with the total, from one
// state of the database.
func TestEmptyPage(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	columns := []string{"1", "2", "3", "4", "5", "6", "7"}
	mock.ExpectQuery("^SELECT .* FROM secrets").WillReturnRows(sqlmock.NewRows(columns))
	mock.ExpectQuery("FROM tallies").WillReturnRows(sqlmock.NewRows([]string{"sum"}).AddRow(int64(3)))
	mock.ExpectBegin()
	s := secret(1)
	mock.ExpectQuery("^SELECT .* FROM secrets").WillReturnRows(sqlmock.NewRows(columns).
		AddRow(s.ID, s.CreatedAt, s.UpdatedAt, s.Version, s.Name, s.Value, int64(4)))
	mock.ExpectRollback()
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Secret](inventory.Schema()), Count: true, Limit: 1, Offset: 3})
	require.NoError(t, err)
	require.EqualValues(t, 4, page.Total)
	require.Len(t, page.Records, 1)
}

// TestCreateFast: records that violate a constraint are added again with a savepoint, in another
// transaction, whatever its function does with the first error.
func TestCreateFast(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	all := steps()
	savepoint := func(text string) {
		mock.ExpectExec("^" + text + "SAVEPOINT item").WillReturnResult(sqlmock.NewResult(0, 0))
	}
	all[0](mock, nil)
	all[2](mock, errKey)
	mock.ExpectRollback()
	all[0](mock, nil)
	savepoint("")
	all[2](mock, errKey)
	savepoint("ROLLBACK TO ")
	all[11](mock, nil)
	var kinds []records.ErrorKind
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		kinds = append(kinds, records.KindOf(tx.(records.FastCreator).CreateFast(t.Context(), secret(1))))
		return nil
	}))
	require.Equal(t, []records.ErrorKind{0, records.Conflict}, kinds)
}

// TestSameStatements: equal changes are equal statements, which a database caches.
func TestSameStatements(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	at := secret(1).CreatedAt
	for range 20 { // the order of maps is random
		mock.ExpectBegin()
		mock.ExpectQuery("^SELECT id, .* FROM locations WHERE id").WillReturnRows(sqlmock.NewRows(
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"}).
			AddRow(secret(1).ID, at, at, int64(1), "a", "a", "a", "a", "a", "a", 1.0, 1.0, "", nil))
		mock.ExpectExec("^SAVEPOINT").WillReturnResult(sqlmock.NewResult(0, 0))
		mock.ExpectExec(`^UPDATE locations SET version = \$1, name = \$2, city = \$3, country = \$4, address = \$5, site_code = \$6, ` +
			`timezone = \$7, lat = \$8, lon = \$9, name__key = \$10 WHERE id = \$11 AND version = \$12$`).WillReturnResult(sqlmock.NewResult(0, 1))
		mock.ExpectExec("^INSERT INTO tallies").WillReturnResult(sqlmock.NewResult(0, 0))
		mock.ExpectCommit()
		b := 2.0
		site := &inventory.Location{Name: "b", City: "b", Country: "b", Address: "b", SiteCode: "b", Timezone: "b", Lat: &b, Lon: &b}
		site.Base = secret(1).Base
		site.Version = 2
		require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Update(t.Context(), site, 1) }))
	}
}

// TestInvalidRecords: a value that is not a record is refused.
func TestInvalidRecords(t *testing.T) {
	t.Parallel()
	store, mock := mocked(t)
	for _, rec := range []records.Record{nil, (*inventory.Secret)(nil), &foreign{}} {
		mock.ExpectBegin()
		mock.ExpectRollback()
		require.ErrorContains(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Create(t.Context(), rec) }), "record type")
		mock.ExpectBegin()
		mock.ExpectRollback()
		require.ErrorContains(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Update(t.Context(), rec, 1) }), "record type")
	}
}

type foreign struct{ records.Base }
