//go:build unix

package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // registers the driver sqlite
)

// longTests reports whether tests run in their long form (CONTRIBUTING.md).
func longTests() bool { return os.Getenv("ASHLAR_LONG_TESTS") == "1" }

// storageBulk is the number of records in a call of a storageLoad.
const storageBulk = 10

// databaseTimeout is DATABASE_TIMEOUT in the tests of faults, and storageBound the time after which
// a request is answered, whatever the database does: four times the first, and more for a busy
// machine.
const (
	databaseTimeout = 2 * time.Second
	storageBound    = 4*databaseTimeout + 12*time.Second
)

// storageLoad creates locations from several goroutines. A call that fails is repeated with its
// Idempotency-Key until it is acknowledged. Each response must be 201, or 503 or 507 with
// Retry-After, within storageBound; or the server has ended.
type storageLoad struct {
	t       *testing.T
	client  *http.Client
	target  atomic.Pointer[inventory]
	stop    context.CancelFunc // starts no further calls
	writers sync.WaitGroup

	mu       sync.Mutex
	next     int
	acked    []string       // the calls that were acknowledged
	statuses map[int]int    // how often each status was answered
	bodies   map[int]string // the last response with each status
	slowest  time.Duration
	problems []string
}

// loadStorage starts to load a server.
func loadStorage(i *inventory, writers int) *storageLoad {
	ctx, stop := context.WithCancel(i.t.Context())
	l := &storageLoad{
		t: i.t, stop: stop, statuses: map[int]int{}, bodies: map[int]string{},
		client: &http.Client{Timeout: 3 * storageBound, Transport: &http.Transport{MaxIdleConnsPerHost: writers}},
	}
	l.target.Store(i)
	i.t.Cleanup(func() {
		stop()
		l.client.CloseIdleConnections()
	})
	for range writers {
		l.writers.Go(func() {
			for ctx.Err() == nil {
				l.mu.Lock()
				l.next++
				call := fmt.Sprintf("call-%d", l.next)
				l.mu.Unlock()
				for !l.create(call) && l.t.Context().Err() == nil {
					<-time.After(5 * time.Millisecond) // less than a client that heeds Retry-After
				}
			}
		})
	}
	return l
}

// create sends a call and reports whether it was acknowledged.
func (l *storageLoad) create(call string) (acked bool) {
	i := l.target.Load()
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, i.url+"/locations", strings.NewReader(bulkLocations(call, storageBulk)))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+i.token)
	request.Header.Set("Idempotency-Key", call)
	begin := time.Now()
	status, retry, body := 0, "", ""
	if response, err := l.client.Do(request); err == nil {
		content, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil {
			status, retry, body = response.StatusCode, response.Header.Get("Retry-After"), string(content)
		}
	}
	took := time.Since(begin)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses[status]++
	l.bodies[status] = body
	l.slowest = max(l.slowest, took)
	switch {
	case status == http.StatusCreated:
		l.acked = append(l.acked, call)
		acked = true
	case status == 0: // the server has ended
	case status != http.StatusServiceUnavailable && status != http.StatusInsufficientStorage, retry == "":
		l.problems = append(l.problems, fmt.Sprintf("%s: status %d, Retry-After %q: %s", call, status, retry, body))
	}
	if took > storageBound && l.t.Context().Err() == nil {
		l.problems = append(l.problems, fmt.Sprintf("%s: status %d after %v", call, status, took))
	}
	return acked
}

// await waits for acknowledged calls, and returns how long it has waited.
func (l *storageLoad) await(calls int) time.Duration {
	l.t.Helper()
	l.mu.Lock()
	want := len(l.acked) + calls
	l.mu.Unlock()
	begin := time.Now()
	eventually(l.t, "acknowledged calls", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.acked) >= want
	})
	return time.Since(begin)
}

// awaitStatus waits until a status has been answered n more times.
func (l *storageLoad) awaitStatus(status, n int) {
	l.t.Helper()
	want := l.count(status) + n
	eventually(l.t, fmt.Sprint("status ", status), func() bool { return l.count(status) >= want })
}

func (l *storageLoad) count(status int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.statuses[status]
}

// message returns the message of the last response with a status.
func (l *storageLoad) message(status int) string {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	return message(l.t, l.bodies[status])
}

// end waits until each call is acknowledged, and fails the test for invalid responses. It logs a
// row of the table of faults in cmd/inventoryd/OPERATIONS.md.
func (l *storageLoad) end(fault string, recovery ...time.Duration) {
	l.t.Helper()
	l.stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.writers.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(2 * timeout):
		l.t.Fatal("calls are never acknowledged")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) > 0 {
		l.t.Fatalf("%d invalid responses: %s", len(l.problems), strings.Join(l.problems[:min(5, len(l.problems))], "\n"))
	}
	slices.Sort(recovery)
	all := 0
	for _, n := range l.statuses {
		all += n
	}
	row := fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f s |", fault, all, l.statuses[503], l.statuses[507], l.statuses[0], l.slowest.Seconds())
	if len(recovery) > 0 {
		row += fmt.Sprintf(" %v |", recovery[len(recovery)-1].Round(10*time.Millisecond))
	}
	l.t.Log(row)
}

// requireExact checks the database: each acknowledged call is stored, completely and once, and
// each record has one entry in the audit log. Calls that were not acknowledged are all repeated
// before.
func (l *storageLoad) requireExact(driver, source string) {
	l.t.Helper()
	db, err := sql.Open(driver, source)
	require.NoError(l.t, err)
	defer db.Close()
	require.Equal(l.t, len(l.acked), storedCalls(l.t, db), "calls that are stored")
	require.Equal(l.t, len(l.acked)*storageBulk, number64(l.t, db, "SELECT count(*) FROM locations"), "records that are stored")
}

// storedCalls returns how many calls are stored, all of them completely and once, with one entry
// in the audit log for each record.
func storedCalls(t *testing.T, db *sql.DB) int {
	t.Helper()
	require.Zero(t, number64(t, db, fmt.Sprintf(
		"SELECT count(*) FROM (SELECT city FROM locations GROUP BY city HAVING count(*) <> %d) AS parts", storageBulk)), "calls that are stored in part or twice")
	require.Zero(t, number64(t, db, `SELECT count(*) FROM locations AS l WHERE
		(SELECT count(*) FROM audit_logs AS a WHERE a.resource_id = l.id AND a.action = 'create') <> 1`), "records without one audit entry")
	require.Equal(t, number64(t, db, "SELECT count(*) FROM locations"),
		number64(t, db, "SELECT count(*) FROM audit_logs WHERE resource_type = 'location'"), "audit entries")
	return number64(t, db, "SELECT count(DISTINCT city) FROM locations")
}

func number64(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

// health returns the status of /healthz, and whether it has Retry-After.
func (i *inventory) health() (status int, retry bool) {
	i.t.Helper()
	response, err := i.http.Get(i.url + "/healthz")
	require.NoError(i.t, err)
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("Retry-After") != ""
}

// requireUnhealthy waits until the health check fails.
func (i *inventory) requireUnhealthy() {
	i.t.Helper()
	eventually(i.t, "an unhealthy server", func() bool {
		status, retry := i.health()
		return status == http.StatusServiceUnavailable && retry
	})
}

func (i *inventory) requireHealthy() {
	i.t.Helper()
	eventually(i.t, "a healthy server", func() bool { status, _ := i.health(); return status == http.StatusOK })
}

// message returns the message of an error response.
func message(t *testing.T, body string) string {
	t.Helper()
	var e struct{ Message string }
	require.NoError(t, json.Unmarshal([]byte(body), &e), body)
	return e.Message
}
