package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// startProxy runs a twemproxy, whose program is nutcracker, in front of servers until the test
// ends. It distributes keys over them.
func startProxy(t *testing.T, servers ...*redistest.Server) *servertest.Process {
	t.Helper()
	servertest.Find(t, "nutcracker") // skips the test before it creates files
	dir, err := os.MkdirTemp("", "proxy")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var list strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&list, "  - %s:1\n", s.Addr)
	}
	return servertest.Start(t, "nutcracker", func(port string) []string {
		config := filepath.Join(dir, "proxy.yaml")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `pool:
  listen: 127.0.0.1:%s
  hash: fnv1a_64
  distribution: ketama
  redis: true
  servers:
%s`, port, list.String()), 0o600))
		return []string{
			"--conf-file", config, "--pid-file", filepath.Join(dir, "pid"), "--output", filepath.Join(dir, "log"),
			"--stats-addr", "127.0.0.1", "--stats-port", servertest.FreePort(t),
		}
	}, func(ctx context.Context, addr string) error {
		// The client would send HELLO, on which the proxy closes the connection.
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if _, err := io.WriteString(conn, "*2\r\n$3\r\nGET\r\n$5\r\nready\r\n"); err != nil {
			return err
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && line != "$-1\r\n" {
			err = fmt.Errorf("it replied %q", line)
		}
		return err
	})
}

// slotOf returns the slot of a key.
func slotOf(t *testing.T, c *redistest.Cluster, key string) int {
	t.Helper()
	slot, err := c.Masters[0].Client().ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	return int(slot)
}

// ownerOf returns the index of the master that StartCluster gave the slot to.
func ownerOf(c *redistest.Cluster, slot int) int {
	const slots = 16384
	return slices.IndexFunc(c.Masters, func(m *redistest.Server) bool {
		return slot < (slices.Index(c.Masters, m)+1)*slots/len(c.Masters)
	})
}

// migration moves a slot from one master to another, in steps.
type migration struct {
	t        *testing.T
	c        *redistest.Cluster
	slot     int
	from, to *redistest.Server
}

func (m *migration) do(s *redistest.Server, args ...any) string {
	m.t.Helper()
	text, err := s.Client().Do(m.t.Context(), append([]any{"cluster"}, args...)...).Text()
	require.NoError(m.t, err)
	return text
}

// begin begins to move the slot: for keys that it does not have, its owner redirects
// clients to the other master from now on.
func (m *migration) begin() {
	m.t.Helper()
	m.do(m.to, "setslot", m.slot, "importing", m.do(m.from, "myid"))
	m.do(m.from, "setslot", m.slot, "migrating", m.do(m.to, "myid"))
}

// move moves the keys that are in the slot.
func (m *migration) move() {
	m.t.Helper()
	client := m.from.Client()
	host, port, _ := net.SplitHostPort(m.to.Addr)
	for {
		keys, err := client.ClusterGetKeysInSlot(m.t.Context(), m.slot, 100).Result()
		require.NoError(m.t, err)
		if len(keys) == 0 {
			return
		}
		for _, key := range keys {
			if err := client.Migrate(m.t.Context(), host, port, key, 0, testTimeout).Err(); err != redis.Nil {
				require.NoError(m.t, err)
			}
		}
	}
}

// finish makes the other master the owner, on all servers.
func (m *migration) finish() {
	m.t.Helper()
	id := m.do(m.to, "myid")
	for _, s := range slices.Concat([]*redistest.Server{m.to, m.from}, m.c.Masters) {
		m.do(s, "setslot", m.slot, "node", id)
	}
}

func TestMigration(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, false, &redistest.Options{TLS: true})
	slot := slotOf(t, c, "key")
	m := &migration{t, c, slot, c.Masters[ownerOf(c, slot)], c.Masters[(ownerOf(c, slot)+1)%3]}
	require.NoError(t, m.from.Client().Set(t.Context(), "key", "value", 0).Err())
	m.begin()
	m.move()
	require.ErrorContains(t, m.from.Client().Get(t.Context(), "key").Err(), "ASK")
	m.finish()
	require.ErrorContains(t, m.from.Client().Get(t.Context(), "key").Err(), "MOVED")
	require.Equal(t, "value", m.to.Client().Get(t.Context(), "key").Val())
}

// addrOfMaster returns the address of the master according to a sentinel, or "".
func addrOfMaster(t *testing.T, s *redistest.Sentinels, sentinel int) string {
	t.Helper()
	client := s.Processes[sentinel].Client()
	defer func() { _ = client.Close() }()
	parts, err := client.Do(t.Context(), "sentinel", "get-master-addr-by-name", s.Name).StringSlice()
	if err != nil || len(parts) != 2 {
		return ""
	}
	return net.JoinHostPort(parts[0], parts[1])
}

// masterOf returns the master according to the first sentinel.
func masterOf(t *testing.T, s *redistest.Sentinels) *redistest.Server {
	t.Helper()
	addr := addrOfMaster(t, s, 0)
	i := slices.IndexFunc(s.Servers, func(server *redistest.Server) bool { return server.Addr == addr })
	require.GreaterOrEqual(t, i, 0, "the master is at %q, where no server is", addr)
	return s.Servers[i]
}

// promote makes the sentinels promote the replica while the master runs, and returns when
// all of them report it.
func promote(t *testing.T, s *redistest.Sentinels) {
	t.Helper()
	client, before := s.Processes[0].Client(), addrOfMaster(t, s, 0)
	require.Eventually(t, func() bool {
		// An error means that a failover is running, or that no replica is ready yet.
		_ = client.Do(t.Context(), "sentinel", "failover", s.Name).Err()
		is := addrOfMaster(t, s, 0)
		return is != "" && is != before
	}, time.Minute, 20*time.Millisecond)
	waitForOther(t, s, before)
}

// waitForOther returns when all sentinels report a master at another address.
func waitForOther(t *testing.T, s *redistest.Sentinels, addr string) {
	t.Helper()
	for i := range s.Processes {
		require.Eventually(t, func() bool {
			is := addrOfMaster(t, s, i)
			return is != "" && is != addr
		}, time.Minute, 20*time.Millisecond)
	}
}

func TestPromote(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, &redistest.Options{Password: "data", TLS: true}, "watch")
	require.Equal(t, s.Servers[0], masterOf(t, s))
	require.NoError(t, masterOf(t, s).Client().Set(t.Context(), "key", "value", 0).Err())
	promote(t, s)
	require.Equal(t, s.Servers[1], masterOf(t, s))
	require.Equal(t, "value", masterOf(t, s).Client().Get(t.Context(), "key").Val(), "the replica had the data")
}
