package main

import (
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// A tally counts how calls ended. Every worker has its own; they are merged when
// all workers are done.
type tally struct {
	ok, overLimit, unknown uint64 // answers by overall code; unknown is any other
	errors                 map[codes.Code]uint64
	unfinished             uint64 // still under way when the run gave up on them

	latency stats.Histogram // of answered calls; in the open loop from the scheduled instant
	delay   stats.Histogram // open loop only: how late calls were sent
}

// answered counts the calls that brought a decision. Rates, latencies and CPU
// are per answered call.
func (t *tally) answered() uint64 { return t.ok + t.overLimit + t.unknown }

// failed counts the calls that ended in an error.
func (t *tally) failed() uint64 {
	var sum uint64
	for _, n := range t.errors {
		sum += n
	}
	return sum
}

// sent counts all calls, however they ended.
func (t *tally) sent() uint64 { return t.answered() + t.failed() + t.unfinished }

func (t *tally) answer(code ratelimitv3.RateLimitResponse_Code, latency time.Duration) {
	switch code {
	case ratelimitv3.RateLimitResponse_OK:
		t.ok++
	case ratelimitv3.RateLimitResponse_OVER_LIMIT:
		t.overLimit++
	default:
		t.unknown++
	}
	t.latency.Record(latency)
}

func (t *tally) fail(code codes.Code, n uint64) {
	if t.errors == nil {
		t.errors = make(map[codes.Code]uint64)
	}
	t.errors[code] += n
}

func (t *tally) merge(o *tally) {
	t.ok += o.ok
	t.overLimit += o.overLimit
	t.unknown += o.unknown
	t.unfinished += o.unfinished
	for code, n := range o.errors {
		t.fail(code, n)
	}
	t.latency.Merge(&o.latency)
	t.delay.Merge(&o.delay)
}
