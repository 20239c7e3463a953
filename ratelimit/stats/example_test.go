package stats_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func ExampleNew() {
	registry := stats.New(nil)
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Stats: registry})
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Day}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine.Use(rules)

	request := ratelimit.Request{Domain: "api", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "client", Value: "a"}}},
	}}
	var decision ratelimit.Decision
	for range 3 {
		if err := engine.DecideInto(context.Background(), &request, &decision); err != nil {
			fmt.Println(err)
		}
	}
	registry.Snapshot().WriteText(os.Stdout)
	// Output:
	// ratelimit.service.folded_names: 0
	// ratelimit.service.global_shadow_mode: 0
	// ratelimit.service.rate_limit.api.client.limit: 1
	// ratelimit.service.rate_limit.api.client.near_limit: 1
	// ratelimit.service.rate_limit.api.client.over_limit: 2
	// ratelimit.service.rate_limit.api.client.over_limit_with_local_cache: 0
	// ratelimit.service.rate_limit.api.client.shadow_mode: 0
	// ratelimit.service.rate_limit.api.client.total_hits: 3
	// ratelimit.service.rate_limit.api.client.total_negative_hits: 0
	// ratelimit.service.rate_limit.api.client.within_limit: 1
	// ratelimit.service.store_failure.allow: 0
	// ratelimit.service.store_failure.deny: 0
	// ratelimit.service.store_failure.local: 0
}
