package redisstore_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

var _ ratelimit.ConditionalStore = (*redisstore.Store)(nil)

// contract returns the options for Redis: a counter stops at 1<<63-1.
func contract() *storetest.Options {
	return &storetest.Options{MaxCount: math.MaxInt64, Subtracts: true, Charges: true, Ledgers: true}
}

func TestStore(t *testing.T) {
	t.Parallel()
	server, valkey := redistest.Start(t, nil), redistest.Start(t, &redistest.Options{Program: redistest.Valkey()})
	for how, addr := range map[string]string{"tcp": server.Addr, "unix": server.Socket, "valkey": valkey.Addr} {
		t.Run(how, func(t *testing.T) {
			if testing.Short() && how == "unix" {
				require.NoError(t, open(t, addr, nil).Ping(t.Context()))
				return
			}
			store := open(t, addr, nil)
			storetest.Run(t, func(*testing.T) ratelimit.Store { return store }, contract())
		})
	}
}

func TestStoreWithTLSAndUser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, &redistest.Options{
		TLS: true, Password: "nobody's", Users: []string{"alice on >sec:ret:s ~* +@all"},
	})
	store := open(t, server.Addr, &redisstore.Options{Auth: "alice:sec:ret:s", TLS: server.ClientTLS()})
	storetest.Run(t, func(*testing.T) ratelimit.Store { return store }, contract())
}

func TestStoreWithPipelineWindow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, &redisstore.Options{PipelineWindow: 200 * time.Microsecond})
	storetest.Run(t, func(*testing.T) ratelimit.Store { return store }, contract())
}

// TestStoreBehindTwemproxy uses a proxy that distributes keys over two servers. It knows neither
// HELLO nor MULTI, and executes scripts on the server of the first key.
func TestStoreBehindTwemproxy(t *testing.T) {
	t.Parallel()
	servers := []*redistest.Server{redistest.Start(t, nil), redistest.Start(t, nil)}
	proxy := startProxy(t, servers...)
	store := open(t, proxy.Addr, nil)
	opts := contract()
	opts.NotConditional = true // a step is not atomic
	storetest.Run(t, func(*testing.T) ratelimit.Store { return notConditional{store, store, store} }, opts)
	for _, s := range servers {
		require.NotZero(t, s.Client().DBSize(t.Context()).Val(), "both servers have keys")
		requireExpiries(t, s.Client())
	}
	testConditional(t, store, false)
	testCharges(t, store, 10)
}

// notConditional hides AddUnlessOver.
type notConditional struct {
	ratelimit.ChargeStore
	subtracting
	updating
}

// updating is a ratelimit.LedgerStore without the methods of a ratelimit.Store.
type updating interface {
	Update(ctx context.Context, key []byte, change func(old []byte) (value []byte, ttl time.Duration)) error
}

// subtracting is a ratelimit.SubtractStore without the methods of a ratelimit.Store.
type subtracting interface {
	Subtract(ctx context.Context, hits []ratelimit.Hit) error
}

// testConditional adds unless over, one call after the other, or requires that the store can't.
func testConditional(t *testing.T, store *redisstore.Store, can bool) {
	t.Helper()
	for range 20 {
		full, free := hit(uniqueName(), 60), hit(uniqueName(), 1)
		for i, want := range []uint64{60, 120} { // the second exceeds the limit of 100 and is added alone
			hits := []ratelimit.Hit{full, free}
			err := store.AddUnlessOver(t.Context(), hits)
			if !can {
				require.ErrorIs(t, err, errors.ErrUnsupported)
				full.N = 0
				require.Zero(t, add(t, store, full))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, hits[0].Count, i)
			require.EqualValues(t, 1, hits[1].Count)
		}
	}
}

// TestRenamedCommands uses servers on which commands were renamed away.
func TestRenamedCommands(t *testing.T) {
	t.Parallel()
	for _, renamed := range []string{
		"hello multi exec client command info",
		"eval evalsha script wait",
		"set pexpire",
		"pexpire pttl",
		"hello multi exec client command info eval evalsha script wait set pexpire pttl", // INCRBY, EXPIRE and GET are left
		"set pexpire expire", // nothing sets an expiry: calls are counted all the same
	} {
		t.Run(renamed, func(t *testing.T) {
			t.Parallel()
			var args []string
			for command := range strings.FieldsSeq(renamed) {
				args = append(args, "--rename-command", command, "")
			}
			server := redistest.Start(t, &redistest.Options{Args: args})
			store := open(t, server.Addr, nil)
			h := hit(uniqueName(), 1)
			for want := range uint64(3) {
				require.Equal(t, want+1, add(t, store, h))
			}
			testConditional(t, store, !strings.Contains(renamed, "eval"))
			if !strings.Contains(renamed, " expire") {
				requireTTL(t, server)
			}
			require.Zero(t, store.Stats().Suspensions)
		})
	}
}

// requireTTL requires an expiry of every key. It uses TTL, which is not renamed.
func requireTTL(t *testing.T, server *redistest.Server) {
	t.Helper()
	client := server.Client()
	keys := client.Keys(t.Context(), "*").Val()
	require.NotEmpty(t, keys)
	for _, key := range keys {
		require.Positive(t, client.TTL(t.Context(), key).Val(), key)
	}
}
