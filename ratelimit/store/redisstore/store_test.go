package redisstore_test

import (
	"math"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

var _ ratelimit.ConditionalStore = (*redisstore.Store)(nil)

// contract returns the options for Redis: a counter stops at 1<<63-1.
func contract() *storetest.Options { return &storetest.Options{MaxCount: math.MaxInt64} }

func TestStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	for how, addr := range map[string]string{"tcp": server.Addr, "unix": server.Socket} {
		t.Run(how, func(t *testing.T) {
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
