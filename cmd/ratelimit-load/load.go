package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// grace is how long calls in flight may take to end once no more are sent.
const grace = time.Second

// A load is what is sent and how, whatever the target.
type load struct {
	requests    *requests
	pick        func(worker int) picker
	concurrency int
	rate        float64 // calls a second in the open loop; 0 is the closed loop
	calls       uint64  // at most so many
}

func newLoad(s *settings) (*load, error) {
	encoded, err := encodeRequests(s)
	if err != nil {
		return nil, err
	}
	pick := func(worker int) picker { return newPicker(s.distribution, s.keys, s.seed, worker) }
	return &load{requests: encoded, pick: pick, concurrency: s.concurrency, rate: s.rate, calls: s.calls}, nil
}

// An outcome is what one stretch of load came to.
type outcome struct {
	tally
	elapsed     time.Duration // until the last call ended or was given up
	missed      uint64        // open loop: were due and never sent
	interrupted bool          // the context ended before the time or the count did
}

// drive loads the target for d, or until the count of calls is reached or ctx
// ends. No call is in flight before it starts or after it returns, so what it
// counts is all that the target did in that time. Calls that have not ended
// within the grace after the last was sent are cancelled.
func (l *load) drive(ctx context.Context, t *target, d time.Duration) *outcome {
	inFlight, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	giveUp := time.AfterFunc(d+grace, kill)
	defer giveUp.Stop()
	defer context.AfterFunc(ctx, func() { giveUp.Reset(grace) })()

	s := &stretch{load: l, start: time.Now(), duration: d}
	workers := s.run(ctx, inFlight, t)
	o := &outcome{elapsed: time.Since(s.start), interrupted: ctx.Err() != nil}
	for _, w := range workers {
		o.merge(&w.tally)
	}
	if l.rate > 0 {
		o.missed = s.missed(o.elapsed, o.sent())
	}
	return o
}

// A stretch is one run of the workers against one target.
type stretch struct {
	*load
	start    time.Time
	duration time.Duration
	tickets  atomic.Uint64
	turn     sync.Mutex // open loop: held by the worker that waits for the clock
}

// run starts the workers, spread evenly over the connections, and returns them
// when all are done.
func (s *stretch) run(ctx, inFlight context.Context, t *target) []*worker {
	workers := make([]*worker, s.concurrency)
	var group sync.WaitGroup
	for i := range workers {
		w := &worker{stretch: s, conn: t.conns[i%len(t.conns)], pick: s.pick(i)}
		workers[i] = w
		group.Go(func() { w.run(ctx, inFlight) })
	}
	group.Wait()
	return workers
}

// ticket numbers the calls of the stretch from 0; ok is false when all are sent.
func (s *stretch) ticket() (n uint64, ok bool) {
	n = s.tickets.Add(1) - 1
	return n, n < s.calls
}

// over says whether no call may be sent any more at now.
func (s *stretch) over(ctx context.Context, now time.Time) bool {
	return now.Sub(s.start) >= s.duration || ctx.Err() != nil
}

// A worker has at most one call in flight.
type worker struct {
	*stretch
	conn     *grpc.ClientConn
	pick     picker
	exchange exchange
	tally    tally
}

func (w *worker) run(ctx, inFlight context.Context) {
	// A context of its own keeps the workers' calls off one another's lock.
	inFlight, cancel := context.WithCancel(inFlight)
	defer cancel()
	if w.rate > 0 {
		w.open(ctx, inFlight)
	} else {
		w.closed(ctx, inFlight)
	}
}

// call sends the request of a ticket, counts how it ended with the latency since
// from, and returns when it did. ok is false for an error.
func (w *worker) call(inFlight context.Context, ticket uint64, from time.Time) (end time.Time, ok bool) {
	w.exchange.request = w.requests.get(w.pick(ticket))
	err := w.conn.Invoke(inFlight, method, &w.exchange, &w.exchange)
	end = time.Now()
	switch {
	case err == nil:
		w.tally.answer(w.exchange.code, end.Sub(from))
	case inFlight.Err() != nil && status.Code(err) == codes.Canceled:
		w.tally.unfinished++
	default:
		w.tally.fail(status.Code(err), 1)
	}
	return end, err == nil
}
