package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

func TestServer(t *testing.T) {
	server := redistest.Start(t, nil)
	client := server.Client()
	require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())

	bySocket := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket})
	defer func() { _ = bySocket.Close() }()
	require.Equal(t, "value", bySocket.Get(t.Context(), "key").Val(), "the socket is one of the same server")

	server.Restart()
	require.Eventually(t, func() bool { return client.Exists(t.Context(), "key").Err() == nil }, time.Minute, 10*time.Millisecond)
	require.Zero(t, client.Exists(t.Context(), "key").Val(), "a server that was killed starts empty")

	server.Kill()
	require.Error(t, client.Ping(t.Context()).Err())
}

func TestServerWithTLSAndUsers(t *testing.T) {
	server := redistest.Start(t, &redistest.Options{TLS: true, Password: "pass word", Users: []string{"alice on >sec:ret ~* +@all"}})
	require.NoError(t, server.Client().Ping(t.Context()).Err())

	alice := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "alice", Password: "sec:ret", TLSConfig: server.ClientTLS()})
	defer func() { _ = alice.Close() }()
	require.Equal(t, "alice", alice.Do(t.Context(), "ACL", "WHOAMI").Val())

	nobody := redis.NewClient(&redis.Options{Addr: server.Addr, TLSConfig: server.ClientTLS(), MaxRetries: -1})
	defer func() { _ = nobody.Close() }()
	require.ErrorContains(t, nobody.Ping(t.Context()).Err(), "NOAUTH")
}

func TestSentinel(t *testing.T) {
	s := redistest.StartSentinel(t, &redistest.Options{Password: "data", TLS: true}, "watch")
	require.Len(t, s.Addrs, 3)
	require.NoError(t, s.Servers[0].Client().Set(t.Context(), "key", "value", 0).Err())
	require.ErrorContains(t, s.Servers[1].Client().Set(t.Context(), "key", "value", 0).Err(), "READONLY", "a replica")
}

func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t, 3, true, &redistest.Options{TLS: true})
	require.Len(t, c.Addrs(), 3)
	require.Len(t, c.Replicas, 3)
	redirected := 0
	for _, m := range c.Masters {
		if err := m.Client().Set(t.Context(), "key", "value", 0).Err(); err != nil {
			require.ErrorContains(t, err, "MOVED")
			redirected++
		}
	}
	require.Equal(t, 2, redirected, "one of the masters owns the key")
}
