package main

import (
	"context"
	"math"
	"time"
)

// open sends the calls at the instants that the clock has scheduled for them,
// however long earlier ones take: call n is due n/rate seconds after the start.
// A worker takes the next call, waits until it is due and sends it; if all
// workers were busy then, it goes out late. The latency runs from the scheduled
// instant, so that waiting for a slow service is part of it and nothing is
// omitted because the service was slow. Calls that were due and found no worker
// before the end of the stretch are the missed ones.
func (w *worker) open(ctx, inFlight context.Context) {
	for !w.over(ctx, time.Now()) {
		ticket, due, ok := w.next(ctx)
		if !ok {
			return
		}
		w.tally.delay.Record(time.Since(due))
		w.call(inFlight, ticket, due)
	}
}

// next takes the next call and returns when it is due; ok is false if there is
// none. The workers take turns, so only the one whose turn it is waits for the
// clock, and exact waiting costs one thread at most.
func (w *worker) next(ctx context.Context) (ticket uint64, due time.Time, ok bool) {
	w.turn.Lock()
	defer w.turn.Unlock()
	ticket, more := w.ticket()
	offset := w.offset(ticket)
	if !more || offset >= w.duration {
		return 0, time.Time{}, false
	}
	due = w.start.Add(offset)
	waitUntil(ctx, due)
	return ticket, due, ctx.Err() == nil
}

// timerLag is more than what a timer of the Go runtime may be late by in a
// process that has nothing else to do: it waits in whole milliseconds then.
const timerLag = 1200 * time.Microsecond

// waitUntil waits for an instant, or until ctx ends: first with a timer, which
// can be interrupted, and the last of it exactly, which cannot.
func waitUntil(ctx context.Context, instant time.Time) {
	if wait := time.Until(instant) - timerLag; wait > 0 {
		pause(ctx, wait)
	}
	if wait := time.Until(instant); wait > 0 && ctx.Err() == nil {
		sleepExactly(wait)
	}
}

// offset is when after the start the call with this ticket is due.
func (s *stretch) offset(ticket uint64) time.Duration {
	return time.Duration(float64(ticket) / s.rate * float64(time.Second))
}

// scheduled counts the calls that were due before elapsed had passed.
func (s *stretch) scheduled(elapsed time.Duration) uint64 {
	n := uint64(math.Ceil(elapsed.Seconds() * s.rate))
	if n > 0 && s.offset(n-1) >= elapsed {
		n-- // the product was rounded up past a whole number
	}
	return min(n, s.calls)
}

// missed counts the calls that were due and are not among the sent ones.
func (s *stretch) missed(elapsed time.Duration, sent uint64) uint64 {
	due := s.scheduled(min(elapsed, s.duration))
	return due - min(due, sent)
}
