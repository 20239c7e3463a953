//go:build unix

package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// storageBulk is the number of records in a call of a storageLoad.
const storageBulk = 10

// storageBound is the time after which a request is answered, whatever the database does: four
// times DATABASE_TIMEOUT, and more for a busy machine.
const storageBound = 4*10*time.Second + 20*time.Second

// storageLoad creates locations from several goroutines, and changes one of each call. A call that
// fails is repeated, with its Idempotency-Key, until it is acknowledged. Each response must be 200
// or 201, or 503 or 507 with Retry-After, within storageBound; or the server has ended.
type storageLoad struct {
	t       *testing.T
	client  *http.Client
	target  atomic.Pointer[inventory]
	stop    context.CancelFunc // starts no further calls
	writers sync.WaitGroup

	mu       sync.Mutex
	next     int
	acked    []string       // the calls that were acknowledged
	patched  int            // how many changes were acknowledged
	forgets  bool           // an older database may be in place: a record to change may be missing
	statuses map[int]int    // how often each status was answered
	bodies   map[int]string // the last response with each status
	slowest  time.Duration
	problems []string
}

// loadStorage starts to load a server. Calls are numbered from 1.
func loadStorage(i *inventory, writers int) *storageLoad {
	return loadStorageFrom(i, writers, 0)
}

// loadStorageFrom does the same with calls that are numbered from a number on, so that their keys
// and names are not those of an earlier load.
func loadStorageFrom(i *inventory, writers, from int) *storageLoad {
	ctx, stop := context.WithCancel(i.t.Context())
	l := &storageLoad{
		t: i.t, stop: stop, next: from, statuses: map[int]int{}, bodies: map[int]string{},
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
				var body string
				l.repeat(func() (done bool) { body, done = l.create(call); return done })
				l.repeat(func() (done bool) { return l.patch(body) })
			}
		})
	}
	return l
}

// repeat repeats a call until it is acknowledged or a response was invalid.
func (l *storageLoad) repeat(call func() (acked bool)) {
	for !call() && l.t.Context().Err() == nil && len(l.invalid()) == 0 {
		<-time.After(20 * time.Millisecond) // less than a client that heeds Retry-After
	}
}

// create sends a call that creates records, and reports whether it was acknowledged.
func (l *storageLoad) create(call string) (body string, acked bool) {
	status, body := l.send(http.MethodPost, "/locations", bulkLocations(call, storageBulk), call)
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == http.StatusCreated {
		l.acked = append(l.acked, call)
	}
	return body, status == http.StatusCreated
}

// patch sends a call that changes the first record of a response, and reports whether it was
// acknowledged.
func (l *storageLoad) patch(created string) (acked bool) {
	var response struct{ Results []struct{ ID string } }
	if json.Unmarshal([]byte(created), &response) != nil || len(response.Results) == 0 {
		return true // the test has ended
	}
	status, _ := l.send(http.MethodPatch, "/locations/"+response.Results[0].ID, `{"address":"changed"}`, "")
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == http.StatusOK {
		l.patched++
	}
	return status == http.StatusOK || status == http.StatusNotFound
}

// send sends a request and notes the response. The status is 0 if the server has ended.
func (l *storageLoad) send(method, path, body, key string) (status int, content string) {
	i := l.target.Load()
	request, err := http.NewRequestWithContext(l.t.Context(), method, i.url+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+i.token)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	begin, retry := time.Now(), ""
	if response, err := l.client.Do(request); err == nil {
		read, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil {
			status, retry, content = response.StatusCode, response.Header.Get("Retry-After"), string(read)
		}
	}
	took := time.Since(begin)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses[status]++
	l.bodies[status] = content
	l.slowest = max(l.slowest, took)
	ok := status == http.StatusCreated || status == http.StatusOK || status == http.StatusNotFound && l.forgets
	clear := (status == http.StatusServiceUnavailable || status == http.StatusInsufficientStorage) && retry != ""
	if status != 0 && !ok && !clear || took > storageBound && l.t.Context().Err() == nil {
		l.problems = append(l.problems, fmt.Sprintf("%s %s: status %d after %v, Retry-After %q: %s", method, path, status, took, retry, content))
	}
	return status, content
}

// invalid returns the invalid responses.
func (l *storageLoad) invalid() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problems
}

// waitUntil waits until a condition holds, and fails the test for an invalid response.
func (l *storageLoad) waitUntil(what string, ok func() bool) {
	l.t.Helper()
	eventually(l.t, what, func() bool { return ok() || len(l.invalid()) > 0 })
	if problems := l.invalid(); len(problems) > 0 {
		l.t.Fatalf("%d invalid responses: %s", len(problems), strings.Join(problems[:min(5, len(problems))], "\n"))
	}
}

// await waits for acknowledged calls, and returns how long it has waited.
func (l *storageLoad) await(calls int) time.Duration {
	l.t.Helper()
	l.mu.Lock()
	want := len(l.acked) + calls
	l.mu.Unlock()
	begin := time.Now()
	l.waitUntil("acknowledged calls", func() bool {
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
	l.waitUntil(fmt.Sprint("status ", status), func() bool { return l.count(status) >= want })
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
	var ended atomic.Bool
	go func() {
		l.writers.Wait()
		ended.Store(true)
	}()
	l.waitUntil("the end of all calls", ended.Load)
	l.mu.Lock()
	defer l.mu.Unlock()
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
	require.Equal(l.t, l.patched, number64(l.t, db, "SELECT count(*) FROM locations WHERE address = 'changed'"), "changes that are stored")
}

// storedCalls returns how many calls are stored, all of them completely and once, with one entry
// in the audit log for each record.
func storedCalls(t *testing.T, db *sql.DB) int {
	t.Helper()
	require.Zero(t, number64(t, db, fmt.Sprintf(
		"SELECT count(*) FROM (SELECT city FROM locations GROUP BY city HAVING count(*) <> %d) AS parts", storageBulk)), "calls that are stored in part or twice")
	require.Zero(t, number64(t, db, `SELECT count(*) FROM locations AS l WHERE
		(SELECT count(*) FROM audit_logs AS a WHERE a.resource_id = l.id AND a.action = 'create') <> 1`), "records without one audit entry")
	for condition, action := range map[string]string{"1 = 1": "create", "address = 'changed'": "update"} {
		require.Equal(t, number64(t, db, "SELECT count(*) FROM locations WHERE "+condition),
			number64(t, db, "SELECT count(*) FROM audit_logs WHERE resource_type = 'location' AND action = '"+action+"'"), "audit entries")
	}
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
