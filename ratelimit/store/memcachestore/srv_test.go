package memcachestore_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

// srv is the name of the record. The final dot avoids the search list of the machine.
const srv = "_memcache._tcp.nodes.test."

func port(t *testing.T, s *memcachetest.Server) int {
	t.Helper()
	_, text, err := net.SplitHostPort(s.Addr)
	require.NoError(t, err)
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func openSRV(t *testing.T, refresh time.Duration, opts memcachestore.Options) *memcachestore.Store {
	t.Helper()
	opts.Timeout, opts.CloseTimeout = timeout, timeout
	store, err := memcachestore.NewSRV(t.Context(), srv, refresh, &opts)
	require.NoError(t, err)
	closeAtEnd(t, store)
	return store
}

func TestSRV(t *testing.T) {
	servers, _ := start(t, 3, nil)
	// By the full names, final dot included, n. precedes n1.
	targets := []target{{"n1.test.", port(t, servers[1])}, {"n.test.", port(t, servers[0])}, {"o.test.", port(t, servers[2])}}
	_, resolver := newDNS(t, targets...)
	store := openSRV(t, 0, memcachestore.Options{Resolver: resolver})
	want := []string{
		"n.test:" + strconv.Itoa(targets[1].port), "n1.test:" + strconv.Itoa(targets[0].port), "o.test:" + strconv.Itoa(targets[2].port),
	}
	require.Equal(t, want, store.Nodes())
	require.NoError(t, store.Ping(t.Context()))
	for _, key := range keys(30) {
		require.Equal(t, []uint64{1}, add(t, store, hit(key, 1)))
	}
	flush(t, store)
	for _, server := range servers {
		require.True(t, slices.ContainsFunc(keys(30), func(key string) bool { return server.Value(key) == "1" }))
	}
}

// TestSRVOrder has names whose order depends on the final dot.
func TestSRVOrder(t *testing.T) {
	_, resolver := newDNS(t, target{"a1.", 11211}, target{"a.", 11211}, target{"a-b.", 11211}, target{"a.", 1})
	store := openSRV(t, 0, memcachestore.Options{Resolver: resolver})
	require.Equal(t, []string{"a-b:11211", "a:1", "a:11211", "a1:11211"}, store.Nodes())
}

func TestSRVWithTLS(t *testing.T) {
	servers, _ := start(t, 1, &memcachetest.Options{TLS: true})
	_, resolver := newDNS(t, target{"localhost.", port(t, servers[0])})
	store := openSRV(t, 0, memcachestore.Options{Resolver: resolver, TLS: servers[0].ClientTLS()})
	require.NoError(t, store.Ping(t.Context()), "the certificate is for the name in the record, without the dot")
}

func TestSRVIsRefreshed(t *testing.T) {
	servers, _ := start(t, 2, nil)
	one, other := target{"localhost.", port(t, servers[0])}, target{"localhost.", port(t, servers[1])}
	names, resolver := newDNS(t, one)
	var log logtest.Log
	store := openSRV(t, 2*time.Millisecond, memcachestore.Options{Resolver: resolver, Log: log.Logger()})
	add(t, store, hit("key", 3))
	before := store.Nodes()

	names.set()
	require.Eventually(t, func() bool { return log.Count("cannot refresh the memcached nodes") > 1 }, timeout, time.Millisecond)
	require.Equal(t, before, store.Nodes(), "a failed lookup changes nothing")
	require.Equal(t, []uint64{4}, add(t, store, hit("key", 1)))
	require.Positive(t, log.Count(srv))

	names.set(other)
	require.Eventually(t, func() bool { return !slices.Equal(before, store.Nodes()) }, timeout, time.Millisecond)
	require.Equal(t, []uint64{7}, add(t, store, hit("key", 7)))
	flush(t, store)
	require.Equal(t, "4", servers[0].Value("key"), "hits from before the change arrive")
	require.Equal(t, "7", servers[1].Value("key"))

	names.set(one, other)
	require.Eventually(t, func() bool { return len(store.Nodes()) == 2 }, timeout, time.Millisecond)
	require.NoError(t, store.Ping(t.Context()))
}

// TestSRVChangesUnderLoad changes the nodes during calls: none may fail.
func TestSRVChangesUnderLoad(t *testing.T) {
	servers, _ := start(t, 2, nil)
	one, other := target{"localhost.", port(t, servers[0])}, target{"localhost.", port(t, servers[1])}
	names, resolver := newDNS(t, one)
	store := openSRV(t, time.Millisecond, memcachestore.Options{Resolver: resolver})
	for _, targets := range [][]target{{one, other}, {other}, {one}, {other, one}, {one}} {
		names.set(targets...)
		before := names.lookups()
		for names.lookups() < before+3 {
			for _, key := range keys(20) {
				add(t, store, hit(key, 1))
			}
		}
		require.Eventually(t, func() bool { return len(store.Nodes()) == len(targets) }, timeout, time.Millisecond)
	}
	require.NoError(t, store.Close())
	require.Zero(t, store.Stats().Lost)
}

func TestSRVWithoutRefresh(t *testing.T) {
	names, resolver := newDNS(t, target{"localhost.", 1})
	store := openSRV(t, 0, memcachestore.Options{Resolver: resolver})
	names.set(target{"localhost.", 2})
	require.Equal(t, []string{"localhost:1"}, store.Nodes())
	require.Equal(t, 1, names.lookups())
}

func TestSRVFailsAtStart(t *testing.T) {
	names, resolver := newDNS(t)
	opts := &memcachestore.Options{Resolver: resolver, Timeout: timeout}
	_, err := memcachestore.NewSRV(t.Context(), srv, 0, opts)
	require.ErrorContains(t, err, srv)

	names.set(target{".", 11211})
	_, err = memcachestore.NewSRV(t.Context(), srv, 0, opts)
	require.ErrorContains(t, err, "no nodes")

	names.set()
	_, err = memcachestore.NewSRV(t.Context(), srv, 0, opts)
	require.ErrorContains(t, err, srv)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = memcachestore.NewSRV(ctx, srv, 0, opts)
	require.ErrorContains(t, err, srv)
}

func TestInvalidSRV(t *testing.T) {
	for _, name := range []string{"", "nodes.test", "_memcache.nodes.test", "memcache._tcp.test", "_memcache._tcp", "_memcache._tcp.", "_._tcp.test", "_memcache._.test", "_a._b.c d"} {
		_, err := memcachestore.NewSRV(t.Context(), name, -time.Second, &memcachestore.Options{MaxReads: -1})
		require.ErrorContains(t, err, strconv.Quote(name))
		require.ErrorContains(t, err, "refresh -1s")
		require.ErrorContains(t, err, "MaxReads -1")
	}
}
