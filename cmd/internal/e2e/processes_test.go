//go:build unix

package e2e_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// releaseBefore is the commit whose inventoryd must work beside that of this one: the last with version 9 of the schema.
const releaseBefore = "98053783"

// earlierInventoryd builds inventoryd of releaseBefore, once for all runs.
func earlierInventoryd(t *testing.T) (file string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	file = filepath.Join(cache, "ashlar", "inventoryd-"+releaseBefore)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	archive := exec.Command("git", "archive", releaseBefore)
	archive.Dir = checkout
	sources, err := archive.Output()
	if err != nil {
		t.Skipf("THIS TEST DID NOT RUN: the clone lacks commit %s, whose inventoryd it needs: git fetch --unshallow", releaseBefore)
	}
	dir := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(sources)
	require.NoError(t, unpack.Run())
	part := filepath.Join(dir, "built")
	build := exec.Command("go", "build", "-o", part, "./cmd/inventoryd")
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	data, err := os.ReadFile(part)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file+".part", data, 0o755))
	require.NoError(t, os.Rename(file+".part", file))
	return file
}

// balancer is a HAProxy in front of some servers, which it asks for /healthz four times a second.
type balancer struct {
	t     *testing.T
	url   string
	admin string
	ports []string // of the servers s0, s1, ...
}

func startBalancer(t *testing.T, servers int) *balancer {
	t.Helper()
	dir, err := os.MkdirTemp("", "haproxy") // the path of a socket is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &balancer{t: t, admin: filepath.Join(dir, "admin")}
	backends := ""
	for n := range servers {
		b.ports = append(b.ports, servertest.FreePort(t))
		backends += fmt.Sprintf("  server s%d 127.0.0.1:%s check inter 250ms fall 2 rise 1\n", n, b.ports[n])
	}
	p := servertest.Start(t, "haproxy", func(port string) []string {
		config := filepath.Join(dir, "haproxy.cfg")
		require.NoError(t, os.WriteFile(config, []byte(`global
  stats socket `+b.admin+` mode 600 level admin
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 5s
  option redispatch
frontend all
  bind 127.0.0.1:`+port+`
  default_backend inventory
backend inventory
  option httpchk GET /healthz
`+backends), 0o600))
		return []string{"-f", config, "-db"}
	}, accepts)
	b.url = "http://" + p.Addr
	return b
}

// ask sends a command to HAProxy.
func (b *balancer) ask(command string) string {
	b.t.Helper()
	conn, err := net.Dial("unix", b.admin)
	require.NoError(b.t, err)
	defer conn.Close()
	_, err = fmt.Fprintln(conn, command)
	require.NoError(b.t, err)
	var answer bytes.Buffer
	_, err = answer.ReadFrom(conn)
	require.NoError(b.t, err)
	return answer.String()
}

// await waits until HAProxy finds a server up.
func (b *balancer) await(n int) {
	b.t.Helper()
	b.ask(fmt.Sprintf("set server inventory/s%d state ready", n))
	eventually(b.t, fmt.Sprint("server ", n, " is up"), func() bool {
		for line := range strings.Lines(b.ask("show stat")) {
			if strings.HasPrefix(line, fmt.Sprintf("inventory,s%d,", n)) {
				return strings.Contains(line, ",UP,")
			}
		}
		return false
	})
}

// remove takes a server out, as Kubernetes does before it ends one, and ends it.
func (b *balancer) remove(n int, p *inventory) {
	b.t.Helper()
	b.ask(fmt.Sprintf("set server inventory/s%d state drain", n))
	eventually(b.t, "the server has no requests", func() bool {
		for line := range strings.Lines(b.ask("show stat")) {
			if strings.HasPrefix(line, fmt.Sprintf("inventory,s%d,", n)) {
				return strings.Split(line, ",")[4] == "0" // scur
			}
		}
		return false
	})
	p.stop()
}

// TestUpgradeUnderLoad replaces two servers of the release before one by one, under load behind HAProxy, while the
// schema grows and an administrator adds a field. No request fails.
//
// An operator would see a failure as 503 with "older than the database" in the responses and in /healthz, as the server
// DOWN in HAProxy, and as the error "this program is older than the database" in the log of the old one.
func TestUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	old := earlierInventoryd(t)
	b := startBalancer(t, 4)
	server := postgrestest.Start(t)
	url := ordinaryUser(t, server)
	launch := func(n int, file string) *inventory {
		p := startInventoryFile(t, file, url, nil, "-addr", "127.0.0.1:"+b.ports[n])
		b.await(n)
		return p
	}
	first, second := launch(0, old), launch(1, old)
	// With more writers the release before answers 503 on a slow machine: each of its requests waits to learn a field, for 5 s.
	load := loadStorage(&inventory{process: first.process, url: b.url, token: first.token, http: first.http}, 4)
	load.await(50)

	third := launch(2, built("inventoryd"))
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "ALTER TABLE locations ADD COLUMN later text COLLATE \"C\" NOT NULL DEFAULT ''; CREATE INDEX ON locations (later)")
	require.NoError(t, err, "what a later migration adds")
	load.await(50)
	code, body := third.send(http.MethodPost, "/custom-fields", `{"resource":"locations","name":"f","type":"text","label":"F"}`)
	require.Equal(t, http.StatusCreated, code, body)
	load.await(50) // also of the old ones, which have to learn it
	b.remove(0, first)
	first = launch(0, old) // which a crash would start again
	load.await(50)
	b.remove(0, first)
	fourth := launch(3, built("inventoryd"))
	b.remove(1, second)
	load.await(50)
	load.end("an upgrade of two servers, one by one")
	require.Zero(t, load.count(http.StatusServiceUnavailable), load.bodies)
	require.Zero(t, load.count(0))
	load.requireExact("pgx", url)
	third.stop()
	fourth.stop()
}

// TestFirstStartsBehindPooler starts three servers at once on an empty database behind a PgBouncer in transaction mode,
// while somebody holds the lock of migrations. One of them migrates. Then all write, and administrators add fields.
//
// An operator would see a failure as the end of a start, as "prepared statement ... does not exist" in the log, and
// as 503 in /healthz; who holds a lock is in the log, as lock_held_by.
func TestFirstStartsBehindPooler(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url := ordinaryUser(t, server)
	pooled := server.Pooler(t, url)
	db, err := sql.Open("pgx", url+"&application_name=held-by-test")
	require.NoError(t, err)
	defer db.Close()
	lock, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = lock.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(4707185602417310)")
	require.NoError(t, err)
	var started []*process
	for range 3 {
		started = append(started, launchInventory(t, built("inventoryd"), pooled, map[string]string{"LOG_LEVEL": "info"}, "-addr", "127.0.0.1:0"))
	}
	for _, p := range started {
		p.waitFor(p.stderr, `the database is being upgraded.* lock_held_by="[^"]*held-by-test`)
		p.waitFor(p.stderr, `a pooler such as PgBouncer`)
	}
	require.NoError(t, lock.Rollback())
	var all []*inventory
	for _, p := range started {
		all = append(all, login(p))
	}
	require.Equal(t, 1, number64(t, db, "SELECT count(*) FROM users"))
	require.Equal(t, 1, number64(t, db, "SELECT count(DISTINCT applied_at) FROM ashlar_inventory_versions"), "migrations")
	var loads []*storageLoad
	for n, i := range all {
		i.token = all[0].token
		loads = append(loads, loadStorageFrom(i, 4, 1_000_000*n))
	}
	for n, i := range all {
		loads[n].await(15)
		code, body := i.send(http.MethodPost, "/custom-fields", fmt.Sprintf(`{"resource":"locations","name":"f%d","type":"text","label":"F"}`, n))
		require.Equal(t, http.StatusCreated, code, body)
		loads[n].await(15)
	}
	requireNoneFailed(t, "three servers behind PgBouncer", url, loads)
}

// requireNoneFailed ends loads of one database, none of whose requests may have failed.
func requireNoneFailed(t *testing.T, what, url string, loads []*storageLoad) {
	t.Helper()
	for n, load := range loads {
		load.end(what)
		require.Zero(t, load.count(http.StatusServiceUnavailable), load.bodies)
		require.Zero(t, load.count(0))
		if n > 0 {
			loads[0].acked, loads[0].patched = append(loads[0].acked, load.acked...), loads[0].patched+load.patched
		}
	}
	loads[0].requireExact("pgx", url)
}

// TestFewConnections loads three servers with 48 clients, while PostgreSQL allows their user 20 connections.
//
// An operator would see a failure as 503 in responses; the warning "the database refuses further connections" in the log
// and inventory_database_connections_max below DATABASE_MAX_CONNECTIONS tell that connections are few.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url := ordinaryUser(t, server)
	server.Exec(t, "ALTER ROLE inventory CONNECTION LIMIT 20")
	var all []*inventory
	for range 3 {
		all = append(all, startInventory(t, url, map[string]string{"DATABASE_MAX_CONNECTIONS": "12"}))
	}
	var loads []*storageLoad
	var readers errgroup.Group
	for n, i := range all {
		i.token = all[0].token
		loads = append(loads, loadStorageFrom(i, 4, 1_000_000*n))
		for range 12 {
			readers.Go(func() error {
				for range 100 {
					if code, body := i.send(http.MethodGet, "/devices?limit=1", ""); code != http.StatusOK {
						return fmt.Errorf("status %d: %s", code, body)
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, readers.Wait())
	require.Contains(t, all[0].stderr.String()+all[1].stderr.String()+all[2].stderr.String(), "the database refuses further connections")
	server.Exec(t, "ALTER ROLE inventory CONNECTION LIMIT -1")
	requireNoneFailed(t, "three servers, 48 clients and 20 connections", url, loads)
}
