package leasestore_test

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func ExampleNew() {
	shared := memstore.MustNew(nil) // or a redisstore, for several instances
	leases, err := leasestore.New(shared, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = leases.Close() }()

	limit := ratelimit.Per(1_000_000, ratelimit.Year)
	limit.Lease = true
	limiter, err := ratelimit.NewLimiter("logins", leases.Store(), limit, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 1000 {
		if _, err := limiter.Allow(context.Background(), "everybody"); err != nil {
			fmt.Println(err)
		}
	}
	s, err := limiter.AllowN(context.Background(), "everybody", 0)
	fmt.Println(s.Code, s.Remaining, err, leases.Stats().Claims < 100)
	// Output: OK 999000 <nil> true
}
