package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// grace is the time that calls in flight have after the last one was sent.
const grace = time.Second

// load describes what is sent and how, for any target.
type load struct {
	*settings
	requests [][]byte
}

// outcome is the result of one stretch of load.
type outcome struct {
	callCounts
	elapsed     time.Duration // until the last call ended or was cancelled
	interrupted bool          // the context ended first
	cpu         time.Duration // of all processes of the target
}

// drive loads the target for d, until the number of calls is reached, or until ctx ends. No call is
// in flight before or after. Calls that take longer than grace after the last one was sent are
// cancelled.
func (l *load) drive(ctx context.Context, t *target, d time.Duration) *outcome {
	inFlight, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	giveUp := time.AfterFunc(d+grace, kill)
	defer giveUp.Stop()
	defer context.AfterFunc(ctx, func() { giveUp.Reset(grace) })()

	s := &stretch{load: l, start: time.Now(), length: d}
	workers := s.run(ctx, inFlight, t)
	o := &outcome{elapsed: time.Since(s.start), interrupted: ctx.Err() != nil}
	for _, w := range workers {
		o.merge(&w.counts)
	}
	return o
}

// stretch is one run of the workers against one target.
type stretch struct {
	*load
	start   time.Time
	length  time.Duration
	tickets atomic.Uint64
	turn    sync.Mutex // open loop: held by the worker that waits for the clock
}

// run runs the workers, spread evenly over the connections, and returns them at the end.
func (s *stretch) run(ctx, inFlight context.Context, t *target) []*worker {
	workers := make([]*worker, s.concurrency)
	var group sync.WaitGroup
	for i := range workers {
		w := &worker{stretch: s, conn: t.conns[i%len(t.conns)], pick: newPicker(s.distribution, s.keys, i)}
		workers[i] = w
		group.Go(func() { w.run(ctx, inFlight) })
	}
	group.Wait()
	return workers
}

// ticket returns the number of the next call, from 0; ok is false after the last.
func (s *stretch) ticket() (n uint64, ok bool) {
	n = s.tickets.Add(1) - 1
	return n, n < s.calls
}

// over reports whether the stretch has ended.
func (s *stretch) over(ctx context.Context, now time.Time) bool {
	return now.Sub(s.start) >= s.length || ctx.Err() != nil
}

// worker has at most one call in flight.
type worker struct {
	*stretch
	conn     *grpc.ClientConn
	pick     picker
	response ratelimitv3.RateLimitResponse
	counts   callCounts
}

func (w *worker) run(ctx, inFlight context.Context) {
	// A context of its own avoids contention on the lock of a shared one.
	inFlight, cancel := context.WithCancel(inFlight)
	defer cancel()
	if w.rate > 0 {
		w.open(ctx, inFlight)
	} else {
		w.closed(ctx, inFlight)
	}
}

// call sends the request of a ticket and counts its result with the latency since from. ok is false
// for an error.
func (w *worker) call(inFlight context.Context, ticket uint64, from time.Time) (end time.Time, ok bool) {
	err := w.conn.Invoke(inFlight, method, w.requests[w.pick(ticket)], &w.response)
	end = time.Now()
	switch {
	case err == nil:
		w.counts.count(w.response.GetOverallCode(), end.Sub(from))
	case inFlight.Err() != nil && status.Code(err) == codes.Canceled:
		w.counts.unfinished++
	default:
		w.counts.fail(status.Code(err), 1)
	}
	return end, err == nil
}

// open sends calls at scheduled times: call n is due n/rate seconds after the start. A worker waits
// until its call is due and sends it; if all workers were busy, the call is sent late. The latency
// starts at the scheduled time, so that it includes the wait for a slow service.
func (w *worker) open(ctx, inFlight context.Context) {
	for !w.over(ctx, time.Now()) {
		ticket, due, ok := w.next(ctx)
		if !ok {
			return
		}
		w.call(inFlight, ticket, due)
	}
}

// next waits until the next call is due; ok is false after the last. One worker waits at a time, so
// that exact waiting blocks one thread at most.
func (w *worker) next(ctx context.Context) (ticket uint64, due time.Time, ok bool) {
	w.turn.Lock()
	defer w.turn.Unlock()
	ticket, more := w.ticket()
	offset := time.Duration(float64(ticket) / w.rate * float64(time.Second))
	if !more || offset >= w.length {
		return 0, time.Time{}, false
	}
	due = w.start.Add(offset)
	// First with a timer, which can be interrupted, then exactly.
	if wait := time.Until(due) - timerLag; wait > 0 {
		pause(ctx, wait)
	}
	if wait := time.Until(due); wait > 0 && ctx.Err() == nil {
		sleepExactly(wait)
	}
	return ticket, due, ctx.Err() == nil
}

// timerLag is more than the delay of a Go timer in an idle process, which waits in whole
// milliseconds.
const timerLag = 1200 * time.Microsecond

// errorPause is the wait of the closed loop after an error, to avoid a busy loop.
const errorPause = time.Millisecond

// closed sends each call after the previous one has ended. The clock is read once per call.
func (w *worker) closed(ctx, inFlight context.Context) {
	for from := time.Now(); !w.over(ctx, from); {
		ticket, more := w.ticket()
		if !more {
			return
		}
		end, ok := w.call(inFlight, ticket, from)
		if !ok {
			end = pause(ctx, errorPause)
		}
		from = end
	}
}

// pause waits for d or until ctx ends, and returns the time.
func pause(ctx context.Context, d time.Duration) time.Time {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return time.Now()
}

// callCounts counts the results of calls. Every worker has its own; they are merged at the end.
type callCounts struct {
	ok, overLimit, unknown uint64 // responses by overall code; unknown is any other
	errors                 map[codes.Code]uint64
	unfinished             uint64 // cancelled at the end of the run

	latency stats.Histogram // of completed calls; in the open loop since the scheduled time
}

// completed returns the number of calls with a decision. Rates, latencies and CPU refer to them.
func (t *callCounts) completed() uint64 { return t.ok + t.overLimit + t.unknown }

// failed returns the number of calls with an error.
func (t *callCounts) failed() uint64 {
	var sum uint64
	for _, n := range t.errors {
		sum += n
	}
	return sum
}

// sent returns the number of all calls.
func (t *callCounts) sent() uint64 { return t.completed() + t.failed() + t.unfinished }

func (t *callCounts) count(code ratelimitv3.RateLimitResponse_Code, latency time.Duration) {
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

func (t *callCounts) fail(code codes.Code, n uint64) {
	if t.errors == nil {
		t.errors = make(map[codes.Code]uint64)
	}
	t.errors[code] += n
}

func (t *callCounts) merge(o *callCounts) {
	t.ok += o.ok
	t.overLimit += o.overLimit
	t.unknown += o.unknown
	t.unfinished += o.unfinished
	for code, n := range o.errors {
		t.fail(code, n)
	}
	t.latency.Merge(&o.latency)
}
