//go:build unix

package e2e_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
)

// ordinaryUser makes an ordinary user the owner of a new database, and returns its URL.
func ordinaryUser(t *testing.T, server *postgrestest.Server) (url string) {
	t.Helper()
	url = server.Database(t)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	server.Exec(t, "CREATE ROLE inventory LOGIN")
	server.Exec(t, "ALTER DATABASE "+name+" OWNER TO inventory")
	return strings.Replace(url, "postgres://postgres@", "postgres://inventory@", 1)
}

// killBackends ends all connections of the ordinary user.
const killBackends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'inventory'"

// TestStoragePostgres runs the faults that need no server of their own, one after another.
func TestStoragePostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url := ordinaryUser(t, server)
	i := startInventory(t, url, nil)

	load := loadStorage(i, 8)
	load.await(20)
	var recovery []time.Duration
	for range 10 {
		server.Exec(t, killBackends)
		recovery = append(recovery, load.await(8))
	}
	load.end("PostgreSQL: 10 times all connections killed", recovery...)
	load.requireExact("pgx", url)
	acked, patched := load.acked, load.patched

	faults := map[string]func(load *storageLoad) []time.Duration{
		"PostgreSQL: 3 crashes with restarts": func(load *storageLoad) (recovery []time.Duration) {
			for range 3 {
				server.Kill()
				i.requireUnhealthy()
				load.awaitStatus(http.StatusServiceUnavailable, 8)
				server.Restart()
				recovery = append(recovery, load.await(8))
			}
			return recovery
		},
		"PostgreSQL: no connections left": func(load *storageLoad) []time.Duration {
			server.Exec(t, "ALTER ROLE inventory CONNECTION LIMIT 0")
			server.Exec(t, killBackends)
			load.awaitStatus(http.StatusServiceUnavailable, 20)
			i.requireUnhealthy()
			server.Exec(t, "ALTER ROLE inventory CONNECTION LIMIT -1")
			return []time.Duration{load.await(8)}
		},
	}
	for fault, run := range faults {
		load := loadStorageFrom(i, 8, 1_000_000*len(acked))
		load.await(8)
		load.end(fault, run(load)...)
		i.requireHealthy()
		acked, patched = append(acked, load.acked...), patched+load.patched
		load.acked, load.patched = acked, patched
		load.requireExact("pgx", url)
	}
	i.stop()
}

// TestStorageReplay: a response that was repeated for an Idempotency-Key is still right after a crash,
// although another process had committed the change without waiting for the disk.
func TestStorageReplay(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, "wal_writer_delay=10s")
	url := ordinaryUser(t, server)
	i := startInventory(t, url, nil)
	load := loadStorageFrom(i, 0, 0) // which only sends requests
	body := bulkLocations("call", 1)
	status, first := load.send(http.MethodPost, "/locations", body, "first")
	require.Equal(t, http.StatusCreated, status, first)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `BEGIN; SET LOCAL synchronous_commit = off;
		UPDATE receipts SET key = 'second'; UPDATE audit_head SET seq = seq + 1, hash = sha256(hash); COMMIT`)
	require.NoError(t, err)
	status, second := load.send(http.MethodPost, "/locations", body, "second")
	require.Equal(t, http.StatusCreated, status, second)
	require.Equal(t, first, second)
	server.Kill()
	server.Restart()
	eventually(t, "the database", func() bool { return db.PingContext(t.Context()) == nil })
	require.Equal(t, 1, number64(t, db, "SELECT count(*) FROM receipts WHERE key = 'second'"))
	i.stop()
}

// TestStorageLongLock locks a table for longer than the timeout of a call. All connections wait
// for it, so other calls get 503 too, and the health check does not.
func TestStorageLongLock(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url := ordinaryUser(t, server)
	i := startInventory(t, url, map[string]string{"DATABASE_TIMEOUT": "3s"})
	load := loadStorage(i, 24) // more than there are connections
	load.await(24)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE locations IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	begin := time.Now()
	for load.count(http.StatusServiceUnavailable) < 24 {
		status, _ := i.health()
		require.Equal(t, 200, status)
		require.Less(t, time.Since(begin), storageBound)
		<-time.After(100 * time.Millisecond)
	}
	require.NoError(t, tx.Rollback())
	recovery := load.await(1)
	load.await(24)
	load.end("PostgreSQL: a table locked for "+time.Since(begin).Round(time.Second).String()+", 24 writers", recovery)
	i.stop()
	load.requireExact("pgx", url)
}

// TestStorageFailover ends a server during writes and promotes its replica. The URL has both.
func TestStorageFailover(t *testing.T) {
	t.Parallel()
	first := postgrestest.Start(t)
	url := ordinaryUser(t, first)
	second := first.Standby()
	both := strings.Replace(url, first.Addr(), first.Addr()+","+second.Addr(), 1) + "&target_session_attrs=read-write"
	i := startInventory(t, both, nil)
	load := loadStorage(i, 8)
	load.await(40)
	first.Kill()
	load.awaitStatus(http.StatusServiceUnavailable, 20)
	i.requireUnhealthy()
	second.Promote(t)
	recovery := load.await(1)
	load.await(40)
	i.requireHealthy()
	load.end("PostgreSQL: failover to a replica that was promoted", recovery)
	i.stop()
	load.requireExact("pgx", strings.Replace(url, first.Addr(), second.Addr(), 1))
}

// TestStoragePostgresFull fills the disk of the database: changes get 507 and reads work. An administrator can log in
// and prune for as long as it takes, which lets changes go on although nobody made space otherwise. Operators see it by
// inventory_http_requests_total with the status 507, and by "no space left" in the log.
func TestStoragePostgresFull(t *testing.T) {
	t.Parallel()
	dir := mounted(t)
	for _, each := range []string{filepath.Dir(dir), dir} {
		require.NoError(t, os.Chmod(each, 0o777)) // #nosec G302 -- for the user of the server
	}
	server := postgrestest.Start(t)
	url := ordinaryUser(t, server)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	space := filepath.Join(dir, "space")
	server.Exec(t, "COPY (SELECT 1) TO PROGRAM 'mkdir -m 700 "+space+"'")
	server.Exec(t, "CREATE TABLESPACE small LOCATION '"+space+"'")
	server.Exec(t, "GRANT CREATE ON TABLESPACE small TO inventory")
	server.Exec(t, "ALTER DATABASE "+name+" SET TABLESPACE small")
	i := startInventory(t, url, nil)
	load := loadStorage(i, 4)
	load.await(400)
	fill(t, filepath.Join(dir, "filler"))
	load.awaitStatus(http.StatusInsufficientStorage, 20)
	i.requireHealthy()
	status, body := i.send("GET", "/locations?limit=1", "")
	require.Equal(t, 200, status, body)
	login := fmt.Sprintf(`{"username":"admin","password":%q}`, inventoryPassword)
	for n := range 50 {
		status, body = i.send("POST", "/users/login", login)
		require.Equal(t, 200, status, "login %d: %s", n, body)
	}
	// Another transaction, which may see what is deleted, holds up the space for a second: the program waits for it.
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	var before, after, records int64
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT pg_total_relation_size('audit_logs'), count(*) FROM audit_logs").Scan(&before, &records))
	go func() {
		for left := records; left >= records && db.QueryRowContext(t.Context(), "SELECT count(*) FROM audit_logs").Scan(&left) == nil; {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		_ = tx.Rollback()
	}()
	for _, keep := range []int64{records * 3 / 4, 10} { // after the first there is not enough space to compact the table
		for body = `"more":true`; strings.Contains(body, `"more":true`); {
			status, body = i.send("POST", "/retention", fmt.Sprintf(`{"resource":"audit-logs","max_records":%d}`, keep))
			require.Equal(t, 200, status, body)
		}
	}
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT pg_total_relation_size('audit_logs')").Scan(&after))
	require.Less(t, after, before/4)
	recovery := load.await(20)
	load.end("PostgreSQL: disk full, until an administrator pruned", recovery)
	i.requireHealthy()
	status, body = i.send("GET", "/locations?limit=1&count=exact", "")
	require.Equal(t, 200, status, body)
	require.Contains(t, body, fmt.Sprintf(`"total_count":%d,`, storageBulk*len(load.acked)))
	i.stop()
}
