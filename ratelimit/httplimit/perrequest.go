package httplimit

import (
	"math"
	"net/http"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// PerRequest returns a middleware that holds requests to the rules of one domain.
// describe says what of a request the rules are to be matched with, by adding
// descriptors; a request to which it adds none is not limited. Values that a client
// chooses, such as paths, become part of counter names: what it may make up should
// be held to rules with values, or bounded in length.
//
// The headers tell of the tightest of the limits that were applied
// ([ratelimit.Decision.Tightest]). Retry-After says when all of those that refused
// the request will have turned.
//
// PerRequest panics if engine or describe is nil or domain is empty. opts may be
// nil.
func PerRequest(engine *ratelimit.Engine, domain string, describe func(*http.Request, *Descriptors), opts *Options) func(http.Handler) http.Handler {
	if engine == nil || describe == nil || domain == "" {
		panic("httplimit: PerRequest needs an engine, a domain and a function that describes requests")
	}
	g := newGate(opts)
	calls := &sync.Pool{New: func() any { return new(call) }}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := calls.Get().(*call)
			describe(r, &c.descriptors)
			o := c.decide(engine, domain, r)
			// Before the handler runs, which may take long.
			c.descriptors.reset()
			calls.Put(c)
			g.serve(w, r, next, &o)
		})
	}
}

// call is what one decision needs, used again and again.
type call struct {
	descriptors Descriptors
	request     ratelimit.Request
	decision    ratelimit.Decision
}

func (c *call) decide(engine *ratelimit.Engine, domain string, r *http.Request) outcome {
	if len(c.descriptors.list) == 0 {
		return outcome{}
	}
	c.request.Domain, c.request.Descriptors = domain, c.descriptors.list
	if err := engine.DecideInto(r.Context(), &c.request, &c.decision); err != nil {
		return outcome{err: err}
	}
	o := outcome{over: c.decision.Code == ratelimit.OverLimit}
	if s := c.decision.Tightest(); s != nil {
		o.status = *s
	}
	if o.over {
		o.retry = retryAfter(c.decision.Statuses)
	}
	return o
}

// retryAfter is how long a refused request has to wait: for every limit it is over,
// but of those in quota mode, which refuse only together, for the first.
func retryAfter(statuses []ratelimit.Status) uint32 {
	all, quota := uint32(0), uint32(math.MaxUint32)
	for i := range statuses {
		s := &statuses[i]
		switch {
		case s.Quota && s.Code == ratelimit.OverLimit:
			quota = min(quota, s.ResetSeconds)
		case s.Quota:
			quota = 0 // not all are over, so they refuse nothing
		case s.Code == ratelimit.OverLimit:
			all = max(all, s.ResetSeconds)
		}
	}
	if quota == math.MaxUint32 {
		return all
	}
	return max(all, quota)
}
