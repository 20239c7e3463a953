//go:build unix

package e2e_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// restartInventory starts an inventoryd on the database of another one, whose token it accepts.
func restartInventory(t *testing.T, file, token string) *inventory {
	t.Helper()
	p := start(t, map[string]string{"DATABASE_URL": file, "RATE_LIMIT": "0", "LOG_LEVEL": "warn"}, "inventoryd", "-addr", "127.0.0.1:0")
	at := p.waitFor(p.stderr, `(?m)^inventoryd: (http://[0-9.:]+), records in (.+); Ctrl-C stops it\n`)
	i := &inventory{process: p, url: at[1], http: &http.Client{Timeout: timeout, Transport: &http.Transport{}}, token: token}
	t.Cleanup(i.http.CloseIdleConnections)
	return i
}

// TestSoakStorageKilled kills inventoryd during bulk writes, again and again.
func TestSoakStorageKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	i := startInventory(t, file, nil)
	load := loadStorage(i, 4)
	var recovery []time.Duration
	kills, until := 0, time.Now().Add(scaletest.Soak(t)/10)
	for ; kills < 10 || time.Now().Before(until); kills++ {
		load.await(1 + kills%5)
		begin := time.Now()
		i.signal(syscall.SIGKILL)
		<-i.ended
		i = restartInventory(t, file, i.token)
		load.target.Store(i)
		load.await(1)
		recovery = append(recovery, time.Since(begin))
	}
	load.end(fmt.Sprintf("SQLite: %d times kill -9", kills), recovery...)
	i.signal(syscall.SIGKILL)
	<-i.ended
	load.requireExact("sqlite", file)
}

// TestStorageTwoProcesses loads two servers with one database file.
func TestStorageTwoProcesses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	one := startInventory(t, file, nil)
	other := restartInventory(t, file, one.token)
	loads := []*storageLoad{loadStorage(one, 4), loadStorage(other, 4)}
	loads[1].mu.Lock()
	loads[1].next = 1_000_000 // other keys and names
	loads[1].mu.Unlock()
	for _, load := range loads {
		load.await(50)
	}
	all := &storageLoad{t: t}
	for _, load := range loads {
		load.end("SQLite: two processes")
		all.acked, all.patched = append(all.acked, load.acked...), all.patched+load.patched
	}
	one.stop()
	other.stop()
	all.requireExact("sqlite", file)
}

// mounted makes a file system of 64 MB in a directory until the end of the test.
func mounted(t *testing.T) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a file system")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 64<<20))
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no file system can be mounted here: %q: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// TestStorageFull fills the disk: changes get 507, reads work, and changes too once there is
// space.
func TestStorageFull(t *testing.T) {
	t.Parallel()
	dir := mounted(t)
	file, filler := filepath.Join(dir, "inventory.db"), filepath.Join(dir, "filler")
	i := startInventory(t, file, nil)
	load := loadStorage(i, 4)
	load.await(3)
	fill(t, filler)
	load.awaitStatus(http.StatusInsufficientStorage, 20)
	code, body := i.send("GET", "/locations?limit=1", "")
	require.Equal(t, 200, code, body)
	i.requireHealthy()
	require.Contains(t, load.message(507), "no space left")
	require.NoError(t, os.Remove(filler))
	recovery := load.await(1)
	load.await(20)
	load.end("SQLite: disk full", recovery)
	i.stop()
	load.requireExact("sqlite", file)
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				require.ErrorIs(t, err, syscall.ENOSPC)
				break
			}
		}
	}
}

// TestStorageReadOnly makes the file system read-only, as the kernel does after an error of a
// disk: changes get 503, and acknowledged ones are there after it is mounted again.
func TestStorageReadOnly(t *testing.T) {
	t.Parallel()
	dir := mounted(t)
	file := filepath.Join(dir, "inventory.db")
	i := startInventory(t, file, nil)
	load := loadStorage(i, 4)
	load.await(20)
	if out, err := exec.Command("mount", "-o", "remount,abort", dir).CombinedOutput(); err != nil {
		t.Skipf("this file system can't become read-only: %v: %s", err, out)
	}
	load.awaitStatus(http.StatusServiceUnavailable, 20)
	code, body := i.send("GET", "/locations?limit=1", "")
	require.Equal(t, 200, code, body)
	load.mu.Lock()
	copied := t.TempDir()
	acked := len(load.acked)
	load.mu.Unlock()
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(file + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(copied, "inventory.db"+suffix), content, 0o600))
	}
	db, err := sql.Open("sqlite", filepath.Join(copied, "inventory.db"))
	require.NoError(t, err)
	defer db.Close()
	require.Equal(t, acked, storedCalls(t, db))
	i.signal(syscall.SIGKILL)
	<-i.ended

	next := restartInventory(t, filepath.Join(copied, "inventory.db"), i.token)
	load.target.Store(next)
	load.await(1)
	load.end("SQLite: file system became read-only")
	next.stop()
	load.requireExact("sqlite", filepath.Join(copied, "inventory.db"))
}

// TestStorageReplaced moves the database file away and puts a backup in its place during writes.
func TestStorageReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, moved, backup := filepath.Join(dir, "inventory.db"), filepath.Join(dir, "moved.db"), filepath.Join(dir, "backup.db")
	i := startInventory(t, file, nil)
	load := loadStorage(i, 4)
	load.mu.Lock()
	load.forgets = true
	load.mu.Unlock()
	load.await(5)
	run(t, 0, "inventoryd", "-database-url", file, "backup", backup)
	load.await(5)
	require.NoError(t, os.Rename(file, moved))
	load.awaitStatus(http.StatusServiceUnavailable, 20)
	i.requireUnhealthy()
	load.mu.Lock()
	before := load.acked
	load.mu.Unlock()
	require.NoFileExists(t, file)
	require.NoError(t, os.Rename(backup, file))
	recovery := load.await(1)
	load.await(20)
	i.requireHealthy()
	load.end("SQLite: file replaced by a backup", recovery)
	i.stop()
	for path, calls := range map[string][]string{moved: before, file: load.acked[len(before):]} {
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		require.GreaterOrEqual(t, storedCalls(t, db), len(calls))
		for _, call := range calls {
			require.Equal(t, storageBulk, number64(t, db, "SELECT count(*) FROM locations WHERE city = '"+call+"'"), "%s in %s", call, path)
		}
	}
}

// TestStorageDamaged damages a page: calls that need it get 503, the health check fails, other
// calls succeed, and a backup in the place of the file is used at once.
func TestStorageDamaged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	i := startInventory(t, file, nil)
	code, body := i.send("POST", "/locations", bulkLocations("first", 500))
	require.Equal(t, 201, code, body)
	code, body = i.send("POST", "/locations", strings.Replace(bulkLocations("second", 1), "Allee", "damaged-here", 1))
	require.Equal(t, 201, code, body)
	i.stop()
	run(t, 0, "inventoryd", "-database-url", file, "backup", file+".backup")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	at := 0 // the last place is in the table, or in the entry of the audit log
	for begin := 0; ; {
		n := bytes.Index(content[begin:], []byte("damaged-here"))
		if n < 0 {
			break
		}
		at = begin + n
		clear(content[at/4096*4096 : at/4096*4096+4096])
		begin = at/4096*4096 + 4096
	}
	require.Positive(t, at)
	require.NoError(t, os.WriteFile(file, content, 0o600))

	i = restartInventory(t, file, i.token)
	response, err := i.get("/locations?q=z")
	require.NoError(t, err)
	require.Equal(t, 503, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	code, body = i.send("GET", "/locations?q=z", "")
	require.Equal(t, 503, code, body)
	require.Contains(t, message(t, body), "damaged")
	i.requireUnhealthy()
	code, body = i.send("GET", "/devices", "")
	require.Equal(t, 200, code, body)
	require.NoError(t, os.Rename(file+".backup", file))
	i.requireHealthy()
	require.Equal(t, 501, i.count("locations"))
	i.stop()
}

// get sends a GET and discards the body.
func (i *inventory) get(path string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, i.url+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+i.token)
	response, err := i.http.Do(request)
	if err == nil {
		err = response.Body.Close()
	}
	return response, err
}

// TestStorageModes starts the servers with the umask 000: only the owner may use their files.
func TestStorageModes(t *testing.T) {
	t.Parallel()
	for program, flag := range map[string]string{"inventoryd": "-database-url", "bookcatalogd": "-db"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := &process{t: t, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
			p.cmd = exec.Command("/bin/sh", "-c", `umask 000; exec "$@"`, "sh", built(program), "-addr", "127.0.0.1:0", flag, filepath.Join(dir, "x.db"))
			p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p.stdout, p.stderr, []string{promptRaces}
			require.NoError(t, p.cmd.Start())
			go func() {
				defer close(p.ended)
				_ = p.cmd.Wait()
			}()
			t.Cleanup(p.cleanup)
			p.waitFor(p.stderr, `http://`)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(left), 3, "the database, its log, and the index of the log")
			for _, entry := range left {
				info, err := entry.Info()
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), entry.Name())
			}
			p.stop()
		})
	}
}
