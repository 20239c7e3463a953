package memcachestore_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func ExampleNew() {
	store, err := memcachestore.New([]string{"10.0.0.2:11211", "10.0.0.1:11211"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	fmt.Println(store.Nodes())

	_, err = memcachestore.New([]string{"10.0.0.1"}, nil)
	fmt.Println(err)
	// Output:
	// [10.0.0.2:11211 10.0.0.1:11211]
	// memcachestore: nodes: "10.0.0.1", number 0, is not an address: use host:port, with a port from 1 to 65535
}

// An SRV record follows nodes that change. It is looked up now and every ten seconds; the
// nodes are sorted, so that all instances distribute keys alike.
func ExampleNewSRV() {
	ctx := context.Background()
	names := &dns{targets: []target{{"b.internal.", 11211}, {"a.internal.", 11211}}} // stands for your name server
	store, err := memcachestore.NewSRV(ctx, "_memcache._tcp.counters.internal.", 10*time.Second, &memcachestore.Options{
		Timeout:  30 * time.Second,
		Log:      slog.Default(), // reports failed lookups
		Resolver: names.resolver(),
	})
	if err != nil {
		fmt.Println(err) // the record cannot be looked up
		return
	}
	defer func() { _ = store.Close() }()
	fmt.Println(store.Nodes())

	_, err = memcachestore.NewSRV(ctx, "counters.internal", 0, nil)
	fmt.Println(err)
	// Output:
	// [a.internal:11211 b.internal:11211]
	// memcachestore: SRV record "counters.internal": must be _service._proto.name, such as _memcache._tcp.example.com
}
