package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// pause has the server keep clients waiting, "all" of their commands or each "write".
func pause(t *testing.T, server *redistest.Server, d time.Duration, which string) {
	t.Helper()
	require.NoError(t, server.Client().Do(t.Context(), "client", "pause", d.Milliseconds(), which).Err())
}

func unpause(t *testing.T, server *redistest.Server) {
	t.Helper()
	require.NoError(t, server.Client().Do(t.Context(), "client", "unpause").Err())
}

func TestPauseIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, &redisstore.Options{Timeout: forLong})
	h := hit(name(), 1)
	require.EqualValues(t, 1, add(t, store, h))

	const while = 200 * time.Millisecond
	begin := time.Now()
	pause(t, server, while, "all")
	require.EqualValues(t, 2, add(t, store, h))
	require.GreaterOrEqual(t, time.Since(begin), while/2, "the server was paused") // its clock shows milliseconds, and may be set

	pause(t, server, forLong, "write")
	written := make(chan error, 1)
	go func() { written <- store.Add(context.Background(), []ratelimit.Hit{h}) }()
	require.Eventually(t, store.OneRunning, forever, time.Millisecond)
	read := h
	read.N = 0
	require.EqualValues(t, 2, add(t, store, read), "who only reads is not held up")
	unpause(t, server)
	require.NoError(t, <-written)
	require.EqualValues(t, 3, value(t, server, h))
}

func TestPauseThatIsTooLong(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	const timeout = 150 * time.Millisecond
	store := open(t, server.Addr, &redisstore.Options{Timeout: timeout})
	h := hit(name(), 1)
	l := begin(t, store, h)
	l.progress()
	pause(t, server, forLong, "write")
	l.failures()
	unpause(t, server)
	l.progress()
	l.end()
	require.GreaterOrEqual(t, time.Duration(l.slowest.Load()), timeout/2)
	l.within(forever)
	l.exact(value(t, server, h))
	mortal(t, server.Client())
}

// TestServerThatIsKilledUnderLoad has it come back with what it had, which it writes
// down before it answers, and with nothing.
func TestServerThatIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	for what, keeps := range map[string]bool{"keeps its data": true, "loses its data": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			opts := &redistest.Options{}
			if keeps {
				opts.Args = []string{"--appendonly", "yes", "--appendfsync", "no"} // else it may be put off
			}
			server := redistest.Start(t, opts)
			store := open(t, server.Addr, &redisstore.Options{Timeout: forLong})
			h := hit(name(), 1)
			l := begin(t, store, h)
			l.progress()
			server.Kill()
			l.failures()
			server.Restart()
			l.progress()
			l.end()
			l.within(forever)
			if keeps {
				l.exact(value(t, server, h))
			} else {
				l.atMost(value(t, server, h), "calls get through again")
			}
			mortal(t, server.Client())
		})
	}
}
