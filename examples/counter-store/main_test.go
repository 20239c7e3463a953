package main

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func TestStore(t *testing.T) {
	clock := storetest.NewClock()
	storetest.Run(t, func(*testing.T) ratelimit.Store {
		return &mapStore{now: clock.Now, counters: map[string]counter{}}
	}, &storetest.Options{Clock: clock, NotConditional: true})
}
