//go:build unix

package server_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// benched is a server with demo data, and a handle to its database for the baseline.
type benched struct {
	*server.Server
	db    *sql.DB
	token string
	ids   []string // of some devices
	deep  string   // a cursor nine tenths down the list
	rows  int
}

// databases maps driver names to the databases to measure.
func databases(b *testing.B) map[string]string {
	return map[string]string{
		"sqlite": filepath.Join(b.TempDir(), "inventory.db"),
		"pgx":    postgrestest.Start(b).Database(b),
	}
}

// benchRows is 10,000, or ASHLAR_BENCH_ROWS.
func benchRows(b *testing.B) int {
	b.Helper()
	rows, err := strconv.Atoi(os.Getenv("ASHLAR_BENCH_ROWS"))
	if err != nil {
		return 10_000
	}
	return rows
}

func bench(b *testing.B, driver, url string) *benched {
	b.Helper()
	s := settings(b, map[string]string{"DATABASE_URL": url})
	// The log is as in production, but discarded.
	srv, err := server.New(b.Context(), s, &server.Options{Log: server.NewLog(io.Discard, s), Output: io.Discard})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, srv.Close()) })
	begin := time.Now()
	n, err := demo.Fill(b.Context(), srv.Store(), &demo.Options{Devices: benchRows(b)})
	require.NoError(b, err)
	b.Logf("%s: %.0f devices a second, each with about 15 other records", driver, float64(n["devices"])/time.Since(begin).Seconds())
	db, err := sql.Open(driver, url)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	x := &benched{Server: srv, db: db, rows: benchRows(b)}
	x.login(b)
	page, err := srv.Store().List(b.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Limit: 100})
	require.NoError(b, err)
	for _, rec := range page.Records {
		x.ids = append(x.ids, rec.Meta().ID)
	}
	x.deep = x.cursor(b)
	return x
}

func (x *benched) login(b *testing.B) {
	b.Helper()
	r := httptest.NewRequest("POST", "http://localhost/users/login", strings.NewReader(`{"username":"admin","password":"`+password+`"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, r)
	var response struct{ Token string }
	require.NoError(b, json.Unmarshal(w.Body.Bytes(), &response))
	x.token = response.Token
}

// cursor returns the cursor of the page that begins nine tenths down the list of devices.
func (x *benched) cursor(b *testing.B) string {
	b.Helper()
	q := &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Offset: int64(x.rows * 9 / 10), Limit: 1}
	page, err := x.Store().List(b.Context(), q)
	require.NoError(b, err)
	return q.Cursor(page.Records[0])
}

func (x *benched) get(b *testing.B, path string) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), "GET", "http://localhost"+path, nil) // a context that may end, as in net/http
	r.Header.Set("Authorization", "Bearer "+x.token)
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, r)
	require.Equal(b, 200, w.Code, w.Body.String())
	return w
}

const (
	deviceColumns = "id, created_at, updated_at, version, hostname, ip, model, vendor, os, os_version, status, role, serial_number, rack_position, location_id, last_seen, tags, notes"
	deviceTotal   = ", (SELECT CAST(sum(n) AS bigint) FROM tallies WHERE resource = 'devices' AND field = "
)

// baseline responds with the records of one prepared statement, encoded by encoding/json: the
// cost of the work without this module.
func (x *benched) baseline(b *testing.B, driver, text string, list bool, args ...any) func(id string) *httptest.ResponseRecorder {
	b.Helper()
	if driver == "pgx" {
		for n := 1; strings.Contains(text, "?"); n++ {
			text = strings.Replace(text, "?", fmt.Sprintf("$%d", n), 1)
		}
		text = strings.ReplaceAll(text, "+status", "status")
	}
	stmt, err := x.db.PrepareContext(b.Context(), text)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, stmt.Close()) })
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		args := args
		if !list {
			args = []any{r.PathValue("id")}
		}
		devices, total, err := byHand(r.Context(), stmt, driver, list, args)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		if !list {
			_ = encoder.Encode(devices[0])
			return
		}
		_ = encoder.Encode(map[string]any{"meta": map[string]int64{"total_count": total}, "data": devices})
	})
	mux := http.NewServeMux()
	mux.Handle("GET /devices", handler)
	mux.Handle("GET /devices/{id}", handler)
	return func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), "GET", "http://localhost"+path, nil))
		require.Equal(b, 200, w.Code, w.Body.String())
		return w
	}
}

// byHand queries and scans devices with the least work.
func byHand(ctx context.Context, stmt *sql.Stmt, driver string, list bool, args []any) (devices []*inventory.Device, total int64, err error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		d := &inventory.Device{}
		var tags string
		var created, updated int64
		var seen *int64
		times := []any{&created, &updated, &seen}
		if driver == "pgx" {
			times = []any{&d.CreatedAt, &d.UpdatedAt, &d.LastSeen}
		}
		into := []any{
			&d.ID, times[0], times[1], &d.Version, &d.Hostname, &d.IP, &d.Model, &d.Vendor, &d.OS, &d.OSVersion, &d.Status,
			&d.Role, &d.SerialNumber, &d.RackPosition, &d.LocationID, times[2], &tags, &d.Notes,
		}
		if list {
			into = append(into, &total)
		}
		if err := rows.Scan(into...); err != nil {
			return nil, 0, err
		}
		if driver != "pgx" {
			d.CreatedAt, d.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
			if seen != nil {
				d.LastSeen = new(time.UnixMicro(*seen).UTC())
			}
		}
		if err := json.Unmarshal([]byte(tags), &d.Tags); err != nil {
			return nil, 0, err
		}
		devices = append(devices, d)
	}
	return devices, total, rows.Err()
}

// BenchmarkRequest measures the processor time of a request through all middleware, and of
// the baseline in the same run: x-baseline is the ratio. ASHLAR_BENCH_ROWS=1000000 measures
// with a million devices.
func BenchmarkRequest(b *testing.B) {
	for driver, url := range databases(b) {
		x := bench(b, driver, url)
		for _, tc := range []struct {
			name, path, baseline string
			args                 []any
		}{
			{"get one", "/devices/", "SELECT " + deviceColumns + " FROM devices WHERE id = ?", nil},
			{
				"list 20", "/devices?status=active&sortby=hostname:asc&limit=20",
				"SELECT " + deviceColumns + deviceTotal + "'status' AND value = ?) FROM devices WHERE +status = ? ORDER BY hostname LIMIT 21",
				[]any{"active", "active"},
			},
			{
				"list 100", "/devices?limit=100",
				"SELECT " + deviceColumns + deviceTotal + "'') FROM devices ORDER BY id LIMIT 101",
				[]any{},
			},
		} {
			b.Run(driver+" "+tc.name, func(b *testing.B) {
				baseline := x.baseline(b, driver, tc.baseline, tc.args != nil, tc.args...)
				path := func(n int) string {
					if tc.args == nil {
						return tc.path + x.ids[n%len(x.ids)]
					}
					return tc.path
				}
				sameRecords(b, x.get(b, path(0)), baseline(path(0)))
				compare(b, func(n int) { x.get(b, path(n)) }, func(n int) { baseline(path(n)) })
			})
		}
	}
}

// sameRecords requires that both responses have the same records and total.
func sameRecords(b *testing.B, ours, baseline *httptest.ResponseRecorder) {
	b.Helper()
	type response struct {
		Meta struct {
			Total int64 `json:"total_count"`
		}
		Data []inventory.Device
		ID   string
	}
	var a, z response
	require.NoError(b, json.Unmarshal(ours.Body.Bytes(), &a))
	require.NoError(b, json.Unmarshal(baseline.Body.Bytes(), &z))
	if len(z.Data) > len(a.Data) {
		z.Data = z.Data[:len(a.Data)] // the baseline reads one more, to find out whether there are more
	}
	require.Equal(b, z, a)
}

// compare runs alternating blocks of both and reports their processor time.
func compare(b *testing.B, ours, baseline func(n int)) {
	b.Helper()
	const block = 20
	var spent, least time.Duration
	n := 0
	for b.Loop() {
		begin := processorTime(b)
		for i := range block {
			ours(n + i)
		}
		middle := processorTime(b)
		for i := range block {
			baseline(n + i)
		}
		spent, least, n = spent+middle-begin, least+processorTime(b)-middle, n+block
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(n), "us-cpu")
	b.ReportMetric(float64(spent)/float64(least), "x-baseline")
}

// processorTime returns the processor time of this process so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSize measures requests whose time must not grow with the number of devices: compare a run
// with ASHLAR_BENCH_ROWS=1000000 with one without it.
func BenchmarkSize(b *testing.B) {
	for driver, url := range databases(b) {
		x := bench(b, driver, url)
		for name, path := range map[string]string{
			"first page":        "/devices?limit=20&count=false&cursor=",
			"deep page":         "/devices?limit=20&count=false&cursor=" + x.deep,
			"total":             "/devices?limit=1",
			"total of a status": "/devices?limit=1&status=active",
			"total of a vendor": "/devices?limit=1&vendor=Cisco",
			"total of a name":   "/devices?limit=1&hostname=none",
		} {
			b.Run(driver+" "+name, func(b *testing.B) {
				for b.Loop() {
					x.get(b, path)
				}
			})
		}
	}
}

// BenchmarkBulk changes 1,000 devices in one request, each with its entry in the audit log:
// ms-cpu-100 is the processor time of 100 of them.
func BenchmarkBulk(b *testing.B) {
	for driver, url := range databases(b) {
		x := bench(b, driver, url)
		page, err := x.Store().List(b.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Limit: 1000})
		require.NoError(b, err)
		b.Run(driver, func(b *testing.B) {
			var spent time.Duration
			n := 0
			for b.Loop() {
				items := make([]map[string]any, len(page.Records))
				for i, rec := range page.Records {
					items[i] = map[string]any{"id": rec.Meta().ID, "rack_position": fmt.Sprintf("R%d-U%d", n, i)}
				}
				body, err := json.Marshal(items)
				require.NoError(b, err)
				r := httptest.NewRequestWithContext(b.Context(), "PATCH", "/devices", strings.NewReader(string(body)))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+x.token)
				w := httptest.NewRecorder()
				begin := processorTime(b)
				x.Handler().ServeHTTP(w, r)
				spent += processorTime(b) - begin
				require.Equal(b, 200, w.Code, w.Body.String())
				n++
			}
			b.ReportMetric(float64(spent.Microseconds())/1000/float64(n)/10, "ms-cpu-100")
		})
	}
}

// BenchmarkExport exports all devices, also for other programs: s-100k is the time for 100,000 of them, cpu-s-100k that of the
// processor. ASHLAR_BENCH_ROWS=100000 measures with as many.
func BenchmarkExport(b *testing.B) {
	for driver, url := range databases(b) {
		x := bench(b, driver, url)
		for _, path := range []string{
			"/devices?format=csv", "/devices?format=jsonl", "/devices?format=yaml", "/devices?format=csv&sortby=hostname:asc",
			"/sd/prometheus?port=9100", "/sd/ansible",
		} {
			b.Run(driver+" "+path, func(b *testing.B) {
				var spent time.Duration
				for b.Loop() {
					begin := processorTime(b)
					x.get(b, path)
					spent += processorTime(b) - begin
				}
				scale := 100_000 / float64(x.rows) / float64(b.N)
				b.ReportMetric(spent.Seconds()*scale, "cpu-s-100k")
				b.ReportMetric(b.Elapsed().Seconds()*scale, "s-100k")
			})
		}
	}
}
