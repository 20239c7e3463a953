package memcachestore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func ExampleNew() {
	store, err := memcachestore.New([]string{"10.0.0.2:11211", "10.0.0.1:11211"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close(context.Background()) }()
	fmt.Println(store.Nodes())

	_, err = memcachestore.New([]string{"10.0.0.1"}, nil)
	fmt.Println(err)
	// Output:
	// [10.0.0.2:11211 10.0.0.1:11211]
	// memcachestore: node 0, "10.0.0.1": must be host:port, with a port from 1 to 65535
}

// Nodes that come and go have an SRV record, which is looked up now and every ten
// seconds.
func ExampleNewSRV() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := memcachestore.NewSRV(ctx, "_memcache._tcp.counters.internal", 10*time.Second, &memcachestore.Options{
		Timeout: 100 * time.Millisecond,
		Log:     slog.Default(), // says when the record can't be looked up any more
	})
	if err != nil {
		fmt.Println(err) // there is no such record now
		return
	}
	defer func() { _ = store.Close(context.Background()) }()
	limiter, err := ratelimit.NewLimiter(store, ratelimit.Per(100, ratelimit.Minute), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := limiter.Take(ctx, "192.0.2.1")
	fmt.Println(store.Nodes(), status.Remaining, err)
}
