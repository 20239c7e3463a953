//go:build unix

package server_test

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// The flags of the table. Without -table it runs in a small form that checks responses only.
var (
	fullTable     = flag.Bool("table", false, "measure TestTable with the numbers of the flags, and print the table")
	tableDevices  = flag.Int("table.devices", 100_000, "`number` of devices")
	tablePorts    = flag.Int("table.ports", 2, "`number` of interfaces of a device, at least 2")
	tableAudit    = flag.Int("table.audit", 1_000_000, "`number` of audit log entries")
	tableMetrics  = flag.Int("table.metrics", 1_000_000, "`number` of metrics")
	tableGrowth   = flag.Int("table.growth", 10_000, "`number` of devices of a second database to compare with; 0 for none")
	tableRequests = flag.Int("table.requests", 41, "`number` of requests of a measurement, which ends after 5 s in any case")
	tableEvery    = flag.Int("table.every", 1, "measure one of `n` combinations of two filters and an order")
	tableDir      = flag.String("table.dir", "", "keep the SQLite databases in a `directory`, an absolute path, for further runs")
	tablePostgres = flag.String("table.postgres", "", "`URL` of a PostgreSQL server that keeps its databases for further runs, without the name of a database; unset: one is started")
	tableDatabase = flag.String("table.database", "", "measure one `kind` of database only: sqlite or postgres")
)

// sizes are the numbers of records in a database of the table.
type sizes struct {
	devices, ports, audit, metrics int  // ports are interfaces of a device
	places                         bool // the records are those of filler.places
}

// measured is a server over a filled database.
type measured struct {
	*server.Server
	t      *testing.T
	driver string
	url    string
	db     *sql.DB // beside the server, for the baseline
	token  string
	sizes  sizes
	ids    []string // of some devices
}

// TestTable measures the requests whose time must not grow with the number of records, each
// beside its baseline: a prepared query of the same rows by their ids, and their encoding by
// encoding/json. On a machine with other work the best time tells more than the median.
func TestTable(t *testing.T) {
	small := sizes{1000, 2, 2000, 5000, false}
	full := small
	growth := 100
	if *fullTable {
		full, growth = sizes{*tableDevices, max(*tablePorts, 2), *tableAudit, *tableMetrics, false}, *tableGrowth
	}
	eachDatabase(t, func(t *testing.T, name, driver string, address func(sizes) string) {
		x := newMeasured(t, driver, address(full), full)
		x.header(name)
		x.lists()
		x.pairs("devices")
		x.pairs("interfaces")
		x.searches()
		x.searchAll()
		x.audit()
		x.metrics()
		x.summaries()
		x.topology()
		x.exchange()
		x.starvation()
		x.ingest()
		if growth > 0 {
			s := sizes{growth, full.ports, 0, 0, false}
			x.growth(newMeasured(t, driver, address(s), s))
		}
	})
}

// eachDatabase calls f for each kind of database. address returns the URL of one for the numbers of records.
func eachDatabase(t *testing.T, f func(t *testing.T, name, driver string, address func(sizes) string)) {
	if testing.Short() && !*fullTable {
		t.Skip("without -short")
	}
	for name, driver := range map[string]string{"sqlite": "sqlite", "postgres": "pgx"} {
		if *fullTable && *tableDatabase != "" && *tableDatabase != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if driver != "sqlite" {
				f(t, name, driver, postgresAddress(t))
				return
			}
			dir := cmp.Or(*tableDir, t.TempDir())
			f(t, name, driver, func(s sizes) string { return filepath.Join(dir, s.name()+".db") })
		})
	}
}

// name returns a name for a database of the numbers.
func (s sizes) name() string {
	name := fmt.Sprintf("inventory_%d_%d_%d_%d", s.devices, s.ports, s.audit, s.metrics)
	if s.places {
		name += "_places"
	}
	return name
}

// postgresAddress returns the URLs of databases in a server.
func postgresAddress(t *testing.T) func(sizes) string {
	if *tablePostgres == "" || !*fullTable {
		return func(sizes) string { return shared.Database(t) }
	}
	return func(s sizes) string {
		u, err := url.Parse(*tablePostgres)
		require.NoError(t, err)
		admin, err := sql.Open("pgx", u.JoinPath("postgres").String())
		require.NoError(t, err)
		defer func() { require.NoError(t, admin.Close()) }()
		name := s.name()
		var exists bool
		require.NoError(t, admin.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists))
		if !exists {
			_, err = admin.ExecContext(t.Context(), "CREATE DATABASE "+name)
			require.NoError(t, err)
		}
		return u.JoinPath(name).String()
	}
}

// newMeasured returns a server over a database that is filled unless it was kept. Its limits of
// time are far, to measure what exceeds them.
func newMeasured(t *testing.T, driver, address string, s sizes) *measured {
	t.Helper()
	x := &measured{t: t, driver: driver, url: address, sizes: s}
	x.Server = x.open(map[string]string{"DATABASE_TIMEOUT": "10m", "HEAVY_QUERY_TIMEOUT": "1m"})
	var err error
	x.db, err = sql.Open(driver, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.db.Close()) })
	x.fill()
	x.token = x.login("admin")
	x.ids = x.idsOf("devices", min(s.devices, 1000))
	return x
}

// open returns a server with settings of its own over the database.
func (x *measured) open(environ map[string]string) *server.Server {
	x.t.Helper()
	environ["DATABASE_URL"] = x.url
	s := settings(x.t, environ)
	srv, err := server.New(x.t.Context(), s, &server.Options{Log: server.NewLog(io.Discard, s), Output: io.Discard})
	require.NoError(x.t, err)
	x.t.Cleanup(func() { require.NoError(x.t, srv.Close()) })
	return srv
}

// fill adds what the database lacks. What is there counts as filled.
func (x *measured) fill() {
	x.t.Helper()
	begin, added := time.Now(), false
	if x.count("devices") == 0 {
		f := newFiller(x.t, x.Store(), 1, tableEpoch)
		if x.sizes.places {
			f.places(x.sizes.devices, x.sizes.ports)
		} else {
			f.network(x.sizes.devices, x.sizes.ports)
		}
		added = true
	}
	devices := x.idsOf("devices", x.sizes.devices)
	if x.sizes.audit > 0 && x.count("audit_logs") < x.sizes.audit {
		newFiller(x.t, x.Store(), 2, tableEpoch.Add(100*24*time.Hour)).audit(x.sizes.audit, x.idsOf("users", tableUsers), devices)
		added = true
	}
	if x.sizes.metrics > 0 && x.count("metrics") == 0 {
		newFiller(x.t, x.Store(), 3, tableEpoch.Add(200*24*time.Hour)).latestMetrics(devices)
		pastMetrics(x.t, x.db, x.driver, x.sizes.devices, x.sizes.metrics-x.sizes.devices)
		added = true
	}
	if !added {
		return
	}
	if x.driver == "pgx" { // what autovacuum does within minutes
		x.exec("VACUUM (ANALYZE)")
	}
	x.t.Logf("filled %+v in %.0f s", x.sizes, time.Since(begin).Seconds())
}

func (x *measured) exec(text string) {
	x.t.Helper()
	_, err := x.db.ExecContext(x.t.Context(), text)
	require.NoError(x.t, err)
}

// count counts rows without the server.
func (x *measured) count(from string) (n int) {
	x.t.Helper()
	require.NoError(x.t, x.db.QueryRowContext(x.t.Context(), "SELECT count(*) FROM "+from).Scan(&n))
	return n
}

// idsOf returns the first ids of a table.
func (x *measured) idsOf(table string, limit int) (ids []string) {
	x.t.Helper()
	for _, row := range x.query(fmt.Sprintf("SELECT id FROM %s ORDER BY id LIMIT %d", table, limit)) {
		ids = append(ids, row[0].(string))
	}
	return ids
}

// query returns the rows of a query.
func (x *measured) query(text string, args ...any) (all [][]any) {
	x.t.Helper()
	rows, err := x.db.QueryContext(x.t.Context(), text, args...)
	require.NoError(x.t, err)
	all, err = scan(rows)
	require.NoError(x.t, err)
	return all
}

func scan(rows *sql.Rows) (all [][]any, err error) {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	return all, rows.Err()
}

func (x *measured) login(name string) (token string) {
	x.t.Helper()
	w := x.send(x.Server, "", "POST", "/users/login", `{"username":"`+name+`","password":"`+password+`"}`)
	var response struct{ Token string }
	require.NoError(x.t, json.Unmarshal(w.Body.Bytes(), &response))
	require.NotEmpty(x.t, response.Token, w.Body.String())
	return response.Token
}

// send sends a request to the handler of a server, without a network.
func (x *measured) send(srv *server.Server, token, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(x.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	srv.Handler().ServeHTTP(w, r)
	return w
}

// page is the response to a list, or to a request of one record, which is the only element then.
type page struct {
	Meta struct {
		Total int64 `json:"total_count"`
	}
	Data []json.RawMessage
	ids  []string
}

func (x *measured) parse(w *httptest.ResponseRecorder) *page {
	x.t.Helper()
	p := &page{}
	require.NoError(x.t, json.Unmarshal(w.Body.Bytes(), p))
	if p.Data == nil {
		p.Data = []json.RawMessage{w.Body.Bytes()}
	}
	for _, data := range p.Data {
		var rec struct{ ID string }
		require.NoError(x.t, json.Unmarshal(data, &rec))
		p.ids = append(p.ids, rec.ID)
	}
	return p
}

// get sends a request that must succeed.
func (x *measured) get(path string) *httptest.ResponseRecorder {
	x.t.Helper()
	w := x.send(x.Server, x.token, "GET", path, "")
	require.Equal(x.t, 200, w.Code, "%s: %s", path, w.Body.String())
	return w
}

// times are the durations of equal requests, in ascending order.
type times []time.Duration

// repeat measures f.
func repeat(f func()) times {
	n := 3
	if *fullTable {
		n = *tableRequests
	}
	var all times
	for end := time.Now().Add(5 * time.Second); len(all) < n && (len(all) < 3 || time.Now().Before(end)); {
		begin := time.Now()
		f()
		all = append(all, time.Since(begin))
	}
	slices.Sort(all)
	return all
}

// ms returns a percentile in milliseconds.
func (all times) ms(percent int) float64 {
	return float64(all[(len(all)-1)*percent/100].Microseconds()) / 1000
}

// header begins the table.
func (x *measured) header(name string) {
	x.printf("\n### %s: %d devices, %d interfaces, %d audit log entries, %d metrics; %d processors\n\n", name,
		x.sizes.devices, x.sizes.devices*x.sizes.ports, x.sizes.audit, x.sizes.metrics, runtime.NumCPU())
	x.printf("| measurement | bar ms | median ms | best | p95 | baseline ms | ratio | rows | total | |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
}

// printf prints a part of the table.
func (x *measured) printf(format string, args ...any) {
	if *fullTable {
		fmt.Printf(format, args...)
	}
}

// row adds a row to the table. A bar of 0 is none.
func (x *measured) row(name string, bar float64, all times, baseline float64, rows int, total int64) {
	verdict := ""
	switch {
	case bar > 0 && all.ms(50) <= bar:
		verdict = "met"
	case bar > 0:
		verdict = "OVER"
	}
	least, ratio := "-", "-"
	if baseline > 0 {
		least, ratio = fmt.Sprintf("%.2f", baseline), fmt.Sprintf("%.1f", all.ms(50)/baseline)
	}
	x.printf("| %s | %g | %.2f | %.2f | %.2f | %s | %s | %d | %d | %s |\n", name, bar, all.ms(50), all.ms(0), all.ms(95), least, ratio, rows, total, verdict)
}

// note adds a row without times.
func (x *measured) note(name, text string) {
	x.printf("| %s | | | | | | | | | %s |\n", name, text)
}

// records returns a slice for the records of a table, to encode.
func recs(table string) any {
	switch table {
	case "devices":
		return &[]inventory.Device{}
	case "interfaces":
		return &[]inventory.Interface{}
	case "audit_logs":
		return &[]records.AuditLog{}
	}
	return &[]inventory.Metric{}
}

// baseline measures a prepared query of the records of a page by their ids, and their encoding.
func (x *measured) baseline(table string, p *page) float64 {
	x.t.Helper()
	if len(p.ids) == 0 || x.sizes.places {
		return 0
	}
	parameters, args := make([]string, len(p.ids)), make([]any, len(p.ids))
	for i, id := range p.ids {
		parameters[i], args[i] = "?", id
		if x.driver == "pgx" {
			parameters[i] = fmt.Sprintf("$%d", i+1)
		}
	}
	stmt, err := x.db.PrepareContext(x.t.Context(), "SELECT * FROM "+table+" WHERE id IN ("+strings.Join(parameters, ", ")+")")
	require.NoError(x.t, err)
	defer func() { require.NoError(x.t, stmt.Close()) }()
	data, err := json.Marshal(p.Data)
	require.NoError(x.t, err)
	found := recs(table)
	require.NoError(x.t, json.Unmarshal(data, found))
	return repeat(func() {
		rows, err := stmt.QueryContext(x.t.Context(), args...)
		require.NoError(x.t, err)
		read, err := scan(rows)
		require.NoError(x.t, err)
		require.Len(x.t, read, len(p.ids))
		require.NoError(x.t, json.NewEncoder(io.Discard).Encode(found))
	}).ms(50)
}

// measure adds the row of a request, and returns its median in milliseconds.
func (x *measured) measure(name string, bar float64, table, path string) (median float64, p *page) {
	x.t.Helper()
	begin := time.Now()
	w := x.send(x.Server, x.token, "GET", path, "")
	first := time.Since(begin)
	if w.Code != 200 && *fullTable {
		x.note(name, fmt.Sprintf("OVER: status %d after %.0f ms", w.Code, first.Seconds()*1000))
		return 0, nil
	}
	require.Equal(x.t, 200, w.Code, "%s: %s", path, w.Body.String())
	p = x.parse(w)
	all := times{first}
	if first < 2*time.Second {
		all = repeat(func() { x.get(path) })
	}
	x.row(name, bar, all, x.baseline(table, p), len(p.Data), p.Meta.Total)
	return all.ms(50), p
}
