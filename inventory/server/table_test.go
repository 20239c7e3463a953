//go:build unix

package server_test

import (
	"cmp"
	"context"
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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// The flags of the table. Without -table it runs in a small form that checks responses only.
var (
	fullTable     = flag.Bool("table", false, "measure TestTable with the numbers of the flags, and print the table")
	tableDevices  = flag.Int("table.devices", 100_000, "`number` of devices; there are two interfaces for each")
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
type sizes struct{ devices, audit, metrics int }

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
	small := sizes{1000, 2000, 5000}
	full := small
	growth := 100
	if *fullTable {
		full, growth = sizes{*tableDevices, *tableAudit, *tableMetrics}, *tableGrowth
	}
	for name, driver := range map[string]string{"sqlite": "sqlite", "postgres": "pgx"} {
		if *fullTable && *tableDatabase != "" && *tableDatabase != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var address func(sizes) string
			if driver == "sqlite" {
				dir := cmp.Or(*tableDir, t.TempDir())
				address = func(s sizes) string {
					return filepath.Join(dir, fmt.Sprintf("inventory-%d-%d-%d.db", s.devices, s.audit, s.metrics))
				}
			} else {
				address = postgresAddress(t)
			}
			x := newMeasured(t, driver, address(full), full)
			x.header(name)
			x.lists()
			x.pairs("devices")
			x.pairs("interfaces")
			x.searches()
			x.audit()
			x.metrics()
			x.summaries()
			x.starvation()
			x.ingest()
			if growth > 0 {
				s := sizes{growth, 0, 0}
				x.growth(newMeasured(t, driver, address(s), s))
			}
		})
	}
}

// postgresAddress returns the URLs of databases in a server.
func postgresAddress(t *testing.T) func(sizes) string {
	if *tablePostgres == "" || !*fullTable {
		s := postgrestest.Start(t)
		return func(sizes) string { return s.Database(t) }
	}
	return func(s sizes) string {
		u, err := url.Parse(*tablePostgres)
		require.NoError(t, err)
		admin, err := sql.Open("pgx", u.JoinPath("postgres").String())
		require.NoError(t, err)
		defer func() { require.NoError(t, admin.Close()) }()
		name := fmt.Sprintf("inventory_%d_%d_%d", s.devices, s.audit, s.metrics)
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
		newFiller(x.t, x.Store(), 1, tableEpoch).network(x.sizes.devices)
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
	x.printf("\n### %s: %d devices, %d audit log entries, %d metrics; %d processors\n\n", name,
		x.sizes.devices, x.sizes.audit, x.sizes.metrics, runtime.NumCPU())
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
	if len(p.ids) == 0 {
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

// list is a list of records with filters, each "field=value" with a value that needs no
// quotes in SQL, and an order.
type list struct {
	table   string
	filters [][2]string
	sort    string
}

// path returns the request of the first page.
func (l *list) path() string {
	values := url.Values{"limit": {"20"}}
	for _, f := range l.filters {
		values.Set(f[0], f[1])
	}
	if l.sort != "" {
		values.Set("sortby", l.sort)
	}
	return "/" + strings.ReplaceAll(l.table, "_", "-") + "?" + values.Encode()
}

// name returns the list for people.
func (l *list) name() string {
	var parts []string
	for _, f := range l.filters {
		parts = append(parts, f[0]+"="+f[1])
	}
	text := strings.ReplaceAll(l.table, "_", "-") + " " + strings.Join(parts, " ")
	if l.sort != "" {
		text += " by " + l.sort
	}
	return text
}

// where returns the condition of the filters in SQL.
func (l *list) where() string {
	var all []string
	for _, f := range l.filters {
		all = append(all, f[0]+" = '"+strings.ReplaceAll(f[1], "'", "''")+"'")
	}
	return strings.Join(append(all, "1 = 1"), " AND ")
}

// measureList is measure for a list. Its total must be that of the database.
func (x *measured) measureList(bar float64, l *list) float64 {
	x.t.Helper()
	median, p := x.measure(l.name(), bar, l.table, l.path())
	x.checkTotal(l, p)
	return median
}

func (x *measured) checkTotal(l *list, p *page) {
	x.t.Helper()
	if p == nil {
		return
	}
	n := x.count(l.table + " WHERE " + l.where())
	require.EqualValues(x.t, n, p.Meta.Total, l.name())
	require.Len(x.t, p.Data, min(n, 20), l.name())
}

// namedLists are the lists of the table with names, besides the exhaustive ones.
func namedLists() []*list {
	return []*list{
		{"devices", nil, ""},
		{"devices", [][2]string{{"status", "active"}}, "hostname:asc"},
		{"interfaces", [][2]string{{"status", "up"}, {"type", "copper"}}, ""},
		{"devices", [][2]string{{"vendor", "Cisco"}, {"status", "active"}}, "hostname:asc"},
		{"interfaces", [][2]string{{"speed_mbps", "1000"}, {"status", "up"}}, "name:asc"},
		{"devices", [][2]string{{"role", "access"}, {"os", "Junos"}}, "ip:asc"},
		{"interfaces", [][2]string{{"mode", "trunk"}, {"oper_status", "down"}}, "mac_address:desc"},
		{"devices", nil, "updated_at:desc"},
		{"devices", nil, "created_at:desc"},
		{"interfaces", nil, "updated_at:desc"},
	}
}

func (x *measured) lists() {
	x.t.Helper()
	for _, l := range namedLists() {
		x.measureList(5, l)
	}
	x.networks()
}

func (x *measured) searches() {
	x.t.Helper()
	for _, word := range []string{frequentWord, rareWord, absentWord, "te"} {
		path := "/devices?limit=20&q=" + word
		x.note("devices q="+word+", the first time", fmt.Sprintf("%.2f ms", once(func() { x.get(path) }))) // later the total is known
		_, p := x.measure("devices q="+word, 20, "devices", path)
		switch {
		case p == nil:
		case word == absentWord:
			require.Zero(x.t, p.Meta.Total)
		case word == rareWord:
			require.EqualValues(x.t, x.count("devices WHERE notes LIKE '%"+rareWord+"%'"), p.Meta.Total)
		default:
			require.GreaterOrEqual(x.t, p.Meta.Total, int64(x.sizes.devices)/3)
		}
	}
	x.measure("interfaces q="+absentWord, 20, "interfaces", "/interfaces?limit=20&q="+absentWord)
}

// audit measures all pairs of the filters of one entry.
func (x *measured) audit() {
	x.t.Helper()
	names := []string{"action", "resource_type", "user_id", "actor", "ip_address", "request_id", "resource_id"}
	row := x.query("SELECT " + strings.Join(names, ", ") + " FROM audit_logs WHERE actor = 'user00' AND action = 'update' ORDER BY id LIMIT 1")[0]
	at := func(i int) [2]string { return [2]string{names[i], row[i].(string)} }
	x.measureList(10, &list{"audit_logs", [][2]string{at(5)}, ""})
	for i := range names {
		for j := range i {
			x.measureList(10, &list{"audit_logs", [][2]string{at(j), at(i)}, ""})
		}
	}
}

func (x *measured) metrics() {
	x.t.Helper()
	for query, total := range map[string]int{"": x.sizes.devices, "&latest=false": x.count("metrics")} {
		if _, p := x.measure("metrics"+query, 5, "metrics", "/metrics?limit=20"+query); p != nil {
			require.EqualValues(x.t, total, p.Meta.Total, query)
		}
	}
	x.measure("metrics by cpu", 0, "metrics", "/metrics?limit=20&sort=cpu:desc")
	x.measure("metrics/device/{id}", 1, "metrics", "/metrics/device/"+x.ids[len(x.ids)/2])
}

func (x *measured) summaries() {
	x.t.Helper()
	for _, by := range []string{"status", "vendor"} {
		path := "/summary?resource=devices&by=" + by
		w := x.send(x.Server, x.token, "GET", path, "")
		if w.Code == 404 {
			x.note(path[1:], "missing")
			continue
		}
		require.Equal(x.t, 200, w.Code, w.Body.String())
		x.row(path[1:], 1, repeat(func() { x.get(path) }), 0, 0, 0)
	}
}

// starvation measures GET of one device alone and while four users send expensive requests, with
// the default settings.
func (x *measured) starvation() {
	x.t.Helper()
	srv := x.open(map[string]string{})
	var tokens []string
	for i := range 4 {
		name := fmt.Sprintf("table%d", i)
		w := x.send(x.Server, x.token, "POST", "/users", `{"username":"`+name+`","email":"`+name+`@example.com","role":"viewer","password":"`+password+`"}`)
		require.Contains(x.t, []int{201, 409}, w.Code, w.Body.String())
		tokens = append(tokens, x.login(name))
	}
	length := 200 * time.Millisecond
	if *fullTable {
		length = 10 * time.Second
	}
	reads := func() times {
		var all times
		for end := time.Now().Add(length); time.Now().Before(end); {
			begin := time.Now()
			w := x.send(srv, x.token, "GET", "/devices/"+x.ids[len(all)%len(x.ids)], "")
			all = append(all, time.Since(begin))
			require.Equal(x.t, 200, w.Code, w.Body.String())
		}
		slices.Sort(all)
		return all
	}
	alone := reads()
	ctx, cancel := context.WithCancel(x.t.Context())
	var clients sync.WaitGroup
	var done, refused atomic.Int64
	for i, token := range tokens {
		clients.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				path := []string{"/metrics?limit=20", "/devices?limit=20&q=" + absentWord}[n%2]
				if w := x.send(srv, token, "GET", path, ""); w.Code == 200 {
					done.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	time.Sleep(length / 10)
	beside := reads()
	cancel()
	clients.Wait()
	x.row("GET one device, alone", 0, alone, 0, len(alone), 0)
	x.row("GET one device, beside 4 clients", 0, beside, alone.ms(50), len(beside), 0)
	x.note("p99 of these reads", fmt.Sprintf("%.2f ms alone, %.2f ms beside them, longest %.2f ms", alone.ms(99), beside.ms(99), beside.ms(100)))
	x.note("expensive requests of the 4 clients", fmt.Sprintf("%d answered, %d refused in %.0f s", done.Load(), refused.Load(), (length+length/10).Seconds()))
}

// growth compares the lists with those of another number of devices.
func (x *measured) growth(other *measured) {
	x.t.Helper()
	for _, l := range namedLists() {
		here, there := x.parse(x.get(l.path())), other.parse(other.get(l.path()))
		require.NotNil(x.t, here)
		require.NotNil(x.t, there)
		a, b := repeat(func() { x.get(l.path()) }).ms(50), repeat(func() { other.get(l.path()) }).ms(50)
		verdict := "met"
		if max(a, b)/min(a, b) > 3 {
			verdict = "OVER 3"
		}
		x.note("growth of "+l.name(), fmt.Sprintf("%d devices %.2f ms, %d devices %.2f ms, ratio %.2f: %s",
			other.sizes.devices, b, x.sizes.devices, a, a/b, verdict))
	}
}
