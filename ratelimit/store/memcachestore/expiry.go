package memcachestore

import (
	"math"
	"time"
)

const (
	// longest is the longest lifetime that memcached takes as one. What is more it takes
	// for a moment, in Unix seconds.
	longest = 30 * 24 * time.Hour
	// tick is what a lifetime may be short of: memcached's clock shows whole seconds, so
	// one of a second may last for a moment only.
	tick = time.Second
	// lastMoment is the latest that the protocol can name, in January 2038.
	lastMoment = math.MaxInt32
)

// expiry is how a counter's lifetime, counted from now, is put to memcached. From
// 2038 on a lifetime is cut down to 30 days.
func expiry(ttl time.Duration, now time.Time) int32 {
	ttl += tick
	if ttl <= longest {
		return int32(ttl / time.Second)
	}
	at := min(now.Add(ttl).Unix(), lastMoment)
	if at-now.Unix() <= int64(longest/time.Second) {
		return int32(longest / time.Second)
	}
	return int32(at)
}
