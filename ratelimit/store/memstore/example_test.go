package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func Example() {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	store := memstore.MustNew(&memstore.Options{
		MaxBytes: 64 << 20,
		Now:      func() time.Time { return noon },
	})

	// An Engine calls its Store like this.
	window := ratelimit.Minute.Window(noon.Unix())
	for range 3 {
		hits := []ratelimit.Hit{{
			Key: fmt.Appendf(nil, "login_user_alice_%d", window), N: 1,
			Limit: 2, Unit: ratelimit.Minute, Window: window,
		}}
		if err := store.Add(context.Background(), hits); err != nil {
			fmt.Println(err)
		}
		fmt.Println(hits[0].Count, "of", hits[0].Limit)
	}
	fmt.Println(store.Stats().Keys, "counter")

	store.Trim(noon.Add(62 * time.Second)) // the minute and two seconds of grace
	fmt.Println(store.Stats().Keys, "counters")
	// Output:
	// 1 of 2
	// 2 of 2
	// 3 of 2
	// 1 counter
	// 0 counters
}

func ExampleStore_AddUnlessOver() {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	store := memstore.MustNew(&memstore.Options{Now: func() time.Time { return noon }})
	window := ratelimit.Hour.Window(noon.Unix())
	ask := func(user, address string) {
		hits := []ratelimit.Hit{
			{Key: []byte(user), N: 1, Limit: 10, Unit: ratelimit.Hour, Window: window},
			{Key: []byte(address), N: 1, Limit: 1, Unit: ratelimit.Hour, Window: window},
		}
		_ = store.AddUnlessOver(context.Background(), hits) // never fails
		fmt.Println(hits[0].Count, hits[1].Count)
	}
	ask("alice", "192.0.2.1")
	ask("alice", "192.0.2.1") // over the address's limit: nothing is counted for alice
	ask("alice", "192.0.2.2")
	// Output:
	// 1 1
	// 1 2
	// 2 1
}
