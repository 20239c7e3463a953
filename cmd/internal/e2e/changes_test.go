//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/feed"
)

// TestSoakChanges kills servers and a client of the change feed while several writers create
// records. The client must have each change once, in the order of commits: every acknowledged one,
// after those that were acknowledged before it began.
func TestSoakChanges(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		killChanges(t, filepath.Join(t.TempDir(), "inventory.db"), 1)
	})
	t.Run("postgres", func(t *testing.T) {
		killChanges(t, postgrestest.Start(t).Database(t), 2)
	})
}

// write is a call that creates a device.
type write struct {
	begin, end time.Time
	acked      bool
}

func killChanges(t *testing.T, database string, servers int) {
	addrs := make([]string, servers)
	running := make([]*inventory, servers)
	var mu sync.Mutex               // guards running, launched, writes and acked
	launched := make(chan struct{}) // closed by the next launch
	for n := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addrs[n] = l.Addr().String()
		require.NoError(t, l.Close())
	}
	launch := func(n int) {
		i := startInventory(t, database, nil, "-addr", addrs[n])
		mu.Lock()
		defer mu.Unlock()
		running[n] = i
		close(launched)
		launched = make(chan struct{})
	}
	for n := range addrs {
		launch(n)
	}
	file := filepath.Join(t.TempDir(), "changes.ndjson")
	token := running[0].token
	client := func() *process {
		return start(t, map[string]string{"INVENTORY_TOKEN": token}, "inventory-follow", "-url", "http://"+addrs[0], "-file", file)
	}
	follower := client()

	writes, acked := map[string]*write{}, 0
	waitForWrites := func(n int) {
		mu.Lock()
		n += acked
		mu.Unlock()
		eventually(t, "devices are created", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return acked >= n
		})
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				i, again := running[(w+n)%servers], launched
				mu.Unlock()
				name := fmt.Sprintf("w%d-%d", w, n)
				at := &write{begin: time.Now()}
				code, _ := i.send("POST", "/devices", fmt.Sprintf(`{"hostname":%q,"ip":"192.0.2.1","model":"m","vendor":"v","os":"o","status":"active"}`, name))
				at.end, at.acked = time.Now(), code == 201
				mu.Lock()
				writes[name] = at
				if at.acked {
					acked++
				}
				mu.Unlock()
				if code == 0 { // killed
					select {
					case <-again:
					case <-stop:
					}
				}
			}
		})
	}
	rounds, until := 0, time.Now().Add(scaletest.Soak(t)/10)
	for ; rounds < 5 || time.Now().Before(until); rounds++ {
		waitForWrites(10 + rand.IntN(100))
		follower.signal(syscall.SIGKILL)
		<-follower.ended
		n := rand.IntN(servers)
		follower = client()
		waitForWrites(rand.IntN(50))
		running[n].signal(syscall.SIGKILL)
		<-running[n].ended
		launch(n)
	}
	close(stop)
	writers.Wait()

	var last struct{ Next string }
	code, body := running[0].send("GET", "/changes", "")
	require.Equal(t, 200, code, body)
	require.NoError(t, json.Unmarshal([]byte(body), &last))
	var changes []feed.Change
	eventually(t, "the client has all changes", func() bool {
		changes = readChanges(t, file)
		return len(changes) > 0 && changes[len(changes)-1].Cursor >= last.Next
	})
	seen := map[string]bool{}
	var latest time.Time // begin of a call whose change is before
	previous := ""
	for _, c := range changes {
		require.Greater(t, c.Cursor, previous, "repeated or out of order")
		previous = c.Cursor
		if c.ResourceType != "device" {
			continue
		}
		name := fmt.Sprint(c.Changes["hostname"].After)
		require.False(t, seen[name], "%s comes twice", name)
		seen[name] = true
		w := writes[name]
		if w == nil || !w.acked {
			continue // killed before its response
		}
		require.False(t, w.end.Before(latest), "%s was acknowledged before a change began that comes before it", name)
		if w.begin.After(latest) {
			latest = w.begin
		}
	}
	for name, w := range writes {
		if w.acked {
			require.True(t, seen[name], "%s was acknowledged and is missing", name)
		}
	}
	require.Equal(t, running[0].count("devices"), len(seen))
	require.Equal(t, running[0].count("audit-logs"), len(changes))
	t.Logf("%d rounds: %d changes, %d of them acknowledged calls of writers", rounds, len(changes), acked)
	for _, i := range running {
		i.stop() // which ends the stream of the client
	}
	follower.signal(syscall.SIGKILL)
	<-follower.ended
	verify := start(t, map[string]string{"DATABASE_URL": database}, "inventoryd", "verify-audit")
	require.Zero(t, verify.code())
	require.Contains(t, verify.stdout.String(), fmt.Sprintf("checked %d entries", len(changes)+1)) // the read of the log above is one
}

// readChanges returns the complete lines of the file of the client.
func readChanges(t *testing.T, file string) (all []feed.Change) {
	t.Helper()
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var c feed.Change
		require.NoError(t, json.Unmarshal(line, &c))
		all = append(all, c)
	}
	return all
}
