package httplimit

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// outcome is what was decided about a request. The zero outcome lets it pass.
type outcome struct {
	status ratelimit.Status // what to tell the client
	over   bool
	retry  uint32 // seconds until it may try again, if over; at least 1, as a reset is
	err    error
}

// statusClientClosed is what a request is answered with that was cancelled
// while it was being counted. Nobody is there to read it; it is for access logs,
// which would otherwise show a 200. No RFC has it, but many servers log it so.
const statusClientClosed = 499

// serve hands the request on or answers it.
func (g *gate) serve(w http.ResponseWriter, r *http.Request, next http.Handler, o *outcome) {
	if o.err != nil {
		g.undecided(w, r, next, o.err)
		return
	}
	if o.status.Limited {
		g.names.set(w.Header(), &o.status, g.reset(&o.status))
	}
	if o.over {
		setRetryAfter(w, o.retry)
		g.opts.Denied.ServeHTTP(w, r)
		return
	}
	next.ServeHTTP(w, r)
}

// reset is the third number of the headers.
func (g *gate) reset(s *ratelimit.Status) uint64 {
	if !g.opts.ResetTime {
		return uint64(s.ResetSeconds)
	}
	return uint64(g.opts.Now().Unix()) + uint64(s.ResetSeconds)
}

// undecided serves a request of which is not known whether it is within its limits.
func (g *gate) undecided(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	// The store may have any name for what the cancellation made of its call, so it is
	// the request that is asked.
	if errors.Is(r.Context().Err(), context.Canceled) {
		w.WriteHeader(statusClientClosed)
		return
	}
	if g.opts.OnError != nil {
		g.opts.OnError(r, err)
	}
	if g.opts.FailClosed {
		setRetryAfter(w, 1)
		g.opts.Unavailable.ServeHTTP(w, r)
		return
	}
	next.ServeHTTP(w, r)
}

func setRetryAfter(w http.ResponseWriter, seconds uint32) {
	w.Header().Set("Retry-After", strconv.FormatUint(uint64(seconds), 10))
}
