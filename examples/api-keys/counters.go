package main

import (
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// counters returns an engine that counts in this process, or in Redis. While Redis fails, each process counts by itself.
func counters(redis string) (*ratelimit.Engine, error) {
	memory := memstore.MustNew(nil)
	if redis == "" {
		return ratelimit.New(memory, nil)
	}
	store, err := redisstore.New(redis, &redisstore.Options{Timeout: 100 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return ratelimit.New(store, &ratelimit.Options{OnStoreFailure: ratelimit.FailLocal, Fallback: memory})
}
