package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func openSentinel(t *testing.T, s *redistest.Sentinels, opts *redisstore.Options) *redisstore.Store {
	t.Helper()
	store, err := redisstore.NewSentinel(s.Name, s.Addrs, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, store.WaitReady(t.Context(), &redisstore.Backoff{Initial: 10 * time.Millisecond}))
	return store
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, &redistest.Options{Password: "da:ta"}, "watch")
	opts := &redisstore.Options{Auth: ":da:ta", SentinelAuth: "watch", Timeout: 30 * time.Second}
	store := openSentinel(t, s, opts)
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) ratelimit.Store { return store }, contract())
	})

	wrong, err := redisstore.NewSentinel("other", s.Addrs, opts)
	require.NoError(t, err)
	require.ErrorContains(t, wrong.Ping(t.Context()), "no master")
	require.NoError(t, wrong.Close())

	s.Processes[0].Kill()
	s.Processes = s.Processes[1:] // two are a majority
	t.Run("one sentinel is gone", func(t *testing.T) {
		require.NoError(t, openSentinel(t, s, opts).Ping(t.Context()))
	})
	t.Run("failover", func(t *testing.T) { failover(t, s, store, func() { promote(t, s) }) })
	t.Run("killed", func(t *testing.T) {
		before := masterOf(t, s)
		failover(t, s, store, func() {
			before.Kill()
			waitForOther(t, s, before.Addr)
		})
	})
}

// failover counts while the master changes. Calls that fail in between may have been
// counted or not, and the last writes of the old master may be lost, because replication is
// asynchronous. Nothing may be counted twice.
func failover(t *testing.T, s *redistest.Sentinels, store *redisstore.Store, change func()) {
	h := hit(uniqueName(), 1)
	l := startLoad(t, store, h)
	l.progress()
	change()
	l.progress()
	l.end()
	l.atMost(counterValue(t, masterOf(t, s), h), "calls go to the new master")
	requireExpiries(t, masterOf(t, s).Client())
}

func TestSentinelWithTLS(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, &redistest.Options{TLS: true, Password: "data"}, "watch")
	opts := &redisstore.Options{Auth: "data", SentinelAuth: "watch", TLS: s.Servers[0].ClientTLS(), Timeout: 30 * time.Second}
	store := openSentinel(t, s, opts)
	h := hit(uniqueName(), 1)
	require.EqualValues(t, 1, add(t, store, h))
	promote(t, s)
	l := startLoad(t, store, h)
	l.progress()
	l.end()
	require.Positive(t, counterValue(t, masterOf(t, s), h))

	stranger := *opts
	stranger.TLS = stranger.TLS.Clone()
	stranger.TLS.Certificates = nil
	plain := *opts
	plain.TLS = nil
	for what, o := range map[string]*redisstore.Options{"no certificate": &stranger, "no TLS": &plain} {
		o.Timeout = time.Second
		other, err := redisstore.NewSentinel(s.Name, s.Addrs, o)
		require.NoError(t, err)
		require.ErrorContains(t, withinTestTimeout(t, other.Ping), "no sentinel", what)
		require.NoError(t, other.Close())
	}
}
