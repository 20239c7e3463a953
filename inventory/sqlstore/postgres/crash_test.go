package postgres_test

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// TestCrash kills the server while several writers of two processes change records, which share
// the waits for the disk: every acknowledged change is there afterwards, everything that a reader
// of the audit log has received too, and the chain is intact.
func TestCrash(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, "wal_writer_delay=10s") // which would flush instead of the store
	url := server.Database(t)
	stores := []*sqlstore.Store{open(t, url, nil), open(t, url, nil)}
	w := &crashWriters{acked: map[string]bool{}, seen: map[int64]string{}}
	devices := records.Of[inventory.Device](stores[0].Schema())
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		var stop atomic.Bool
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() { w.write(t, stores[i%2], fmt.Sprint("r", round, "-w", i), &stop) })
		}
		for _, store := range stores {
			group.Go(func() { w.read(t, store, &stop) })
		}
		want := w.acks() + 50 + 13*round
		require.Eventually(t, func() bool { return w.acks() >= want }, time.Minute, time.Millisecond)
		server.Kill()
		stop.Store(true)
		group.Wait()
		server.Restart()
		for _, store := range stores {
			require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
		}
		var page *records.Page
		var err error
		again(t, func() error { page, err = stores[0].List(t.Context(), &records.Query{Resource: devices}); return err })
		lost := maps.Clone(w.acked)
		for _, rec := range page.Records {
			delete(lost, rec.(*inventory.Device).Hostname)
		}
		require.Empty(t, lost, "acknowledged changes are lost")
		var chain []records.ChainedEntry
		again(t, func() error {
			chain, err = stores[1].AuditAfter(t.Context(), 0, len(page.Records)+1)
			return err
		})
		have := map[int64]string{}
		for _, e := range chain {
			have[e.Seq] = fmt.Sprintf("%x", e.Hash)
		}
		for seq, hash := range w.seen {
			require.Equal(t, hash, have[seq], "the reader has received position %d, which is lost", seq)
		}
		again(t, func() error { _, err := records.VerifyAudit(t.Context(), stores[0], nil); return err })
	}
}

// again calls f until it succeeds: a call may get a connection to the server that was killed, and fail.
func again(t *testing.T, f func() error) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.NoError(c, f()) }, time.Minute, 10*time.Millisecond)
}

// TestCrashRead: who has read an entry of the audit log that another process has committed without
// waiting for the disk, or the position of the end, finds it there after a crash. So does a transaction
// that has changed nothing.
func TestCrashRead(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, "wal_writer_delay=10s")
	url := server.Database(t)
	open(t, url, nil)
	db := raw(t, url)
	for name, read := range map[string]func(*sqlstore.Store) int64{
		"the end": func(store *sqlstore.Store) int64 {
			head, err := store.AuditHead(t.Context())
			require.NoError(t, err)
			return head.Seq
		},
		"a page": func(store *sqlstore.Store) int64 {
			page, err := store.AuditAfter(t.Context(), 0, 10)
			require.NoError(t, err)
			return page[len(page)-1].Seq
		},
		"a transaction": func(store *sqlstore.Store) (seq int64) {
			require.NoError(t, store.Change(t.Context(), func(records.Tx) error {
				return db.QueryRowContext(t.Context(), "SELECT seq FROM audit_head").Scan(&seq)
			}))
			return seq
		},
	} {
		_, err := db.ExecContext(t.Context(), `BEGIN; SET LOCAL synchronous_commit = off;
			UPDATE audit_head SET seq = seq + 1, hash = sha256(hash);
			INSERT INTO audit_chain SELECT seq, 'x', hash FROM audit_head; COMMIT`)
		require.NoError(t, err)
		have := read(open(t, url, nil))
		server.Restart()
		require.Eventually(t, func() bool { return db.PingContext(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
		require.Equal(t, []string{fmt.Sprint(have)}, rows(t, db, "SELECT seq::text FROM audit_head"), name)
	}
}

// crashWriters records the acknowledged changes of a server until it is killed.
type crashWriters struct {
	mu    sync.Mutex
	acked map[string]bool  // host names of created devices
	seen  map[int64]string // hashes by position, of received entries
}

func (w *crashWriters) acks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// write creates devices until the server is gone.
func (w *crashWriters) write(t *testing.T, store *sqlstore.Store, prefix string, stop *atomic.Bool) {
	v := records.New(store, nil)
	for n := 0; !stop.Load(); n++ {
		d := &inventory.Device{Hostname: fmt.Sprint(prefix, "-", n), Status: inventory.DeviceActive}
		if err := v.Create(t.Context(), records.Caller{Name: "jane"}, d); err != nil {
			if !stop.Load() && records.KindOf(err) != records.Unavailable {
				t.Error(err)
				return
			}
			continue
		}
		w.mu.Lock()
		w.acked[d.Hostname] = true
		w.mu.Unlock()
	}
}

// read follows the audit log until the server is gone.
func (w *crashWriters) read(t *testing.T, store *sqlstore.Store, stop *atomic.Bool) {
	at := int64(0)
	for !stop.Load() {
		page, err := store.AuditAfter(t.Context(), at, 100)
		if err != nil {
			continue
		}
		w.mu.Lock()
		for _, e := range page {
			w.seen[e.Seq], at = fmt.Sprintf("%x", e.Hash), e.Seq
		}
		w.mu.Unlock()
	}
}
