package main

import (
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// tokens returns a limit whose counters are in this process, or in Redis together with those of other processes.
func tokens(redis string) (*ratelimit.Limiter, error) {
	var store ratelimit.Store = memstore.MustNew(nil)
	if redis != "" {
		shared, err := redisstore.New(redis, nil)
		if err != nil {
			return nil, err
		}
		store = shared
	}
	limit := ratelimit.Per(1000, ratelimit.Minute)
	limit.Reservations = true
	return ratelimit.NewLimiter("tokens", store, limit, nil)
}
