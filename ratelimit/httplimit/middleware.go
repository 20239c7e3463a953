package httplimit

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/ashlar-go/ashlar/internal/clientkey"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/internal/unenforced"
)

// PerKey returns a middleware that holds requests to one limit, with a counter for each
// key. The key function returns the key of a request: [RemoteHost], [Header],
// [ForwardedFor] or the caller's own. A request with an empty key is not limited.
//
// A key of more than 256 bytes is replaced by a hash, so that a client who can choose
// keys can't choose how much memory each one needs.
//
// A request under a limit of ratelimit.Concurrency holds its permit until its handler has returned.
//
// If limiter or key is nil or opts are invalid, every request gets status 500, and the reason is
// logged once a minute. opts may be nil.
func PerKey(limiter *ratelimit.Limiter, key func(*http.Request) string, opts *Options) func(http.Handler) http.Handler {
	const needs = "httplimit.PerKey needs a key function, and a limiter that ratelimit.NewLimiter returned without an error"
	return middleware(opts, limiter != nil && key != nil, needs, func(r *http.Request, c *call) (bool, error) {
		k := key(r)
		if k == "" {
			return false, nil
		}
		return true, limiter.AllowInto(r.Context(), clientkey.Short(k), 1, &c.decision)
	})
}

// PerRequest returns a middleware that holds requests to the rules of one domain. The
// function describe adds the descriptors that the rules are matched with; a request for
// which it adds none is not limited. Values that a client chooses, such as paths, become
// part of counter names: bound them by rules with values, or in length.
//
// The headers report the tightest of the limits that were applied
// ([ratelimit.Decision.Tightest]), with StructuredHeaders all of them. Retry-After is
// [ratelimit.Decision.RetryAfter].
//
// A request under limits of ratelimit.Concurrency holds its permits until its handler has returned.
//
// If engine or describe is nil, domain is empty or opts are invalid, every request gets status 500,
// and the reason is logged once a minute. opts may be nil.
func PerRequest(engine *ratelimit.Engine, domain string, describe func(*http.Request, *Descriptors), opts *Options) func(http.Handler) http.Handler {
	const needs = "httplimit.PerRequest needs an engine, a domain and a function that describes requests"
	return middleware(opts, engine != nil && describe != nil && domain != "", needs, func(r *http.Request, c *call) (bool, error) {
		describe(r, &c.descriptors)
		if len(c.descriptors.list) == 0 {
			return false, nil
		}
		c.request.Domain, c.request.Descriptors = domain, c.descriptors.list
		return true, engine.DecideInto(r.Context(), &c.request, &c.decision)
	})
}

// call is the memory that a decision needs.
type call struct {
	descriptors Descriptors
	request     ratelimit.Request
	decision    ratelimit.Decision
}

// Descriptors collects the descriptors of a request for PerRequest. It must not be used
// after describe has returned: its memory serves the next request.
type Descriptors struct {
	list    []ratelimit.Descriptor
	entries []ratelimit.Entry // of all descriptors, one after the other
}

// Add adds a descriptor with a copy of entries. The result may be modified until the
// next Add, to give the descriptor a limit or a number of hits of its own.
func (d *Descriptors) Add(entries ...ratelimit.Entry) *ratelimit.Descriptor {
	// When append moves the entries, earlier descriptors keep the old memory.
	start := len(d.entries)
	d.entries = append(d.entries, entries...)
	end := len(d.entries)
	d.list = append(d.list, ratelimit.Descriptor{Entries: d.entries[start:end:end]})
	return &d.list[len(d.list)-1]
}

// reset empties d and releases the strings of the request. Memory that a request with
// many descriptors needed is released too.
func (d *Descriptors) reset() {
	const keepDescriptors, keepEntries = 64, 512
	clear(d.list)
	clear(d.entries)
	d.list, d.entries = d.list[:0], d.entries[:0]
	if cap(d.list) > keepDescriptors || cap(d.entries) > keepEntries {
		*d = Descriptors{}
	}
}

// statusClientClosed is the status of a request that was canceled while it was being
// counted. No client receives it; it is for access logs, which would otherwise show 200.
// No RFC defines it, but several servers log it.
const statusClientClosed = 499

// limits is a middleware: its options, the memory of calls and the times of warnings.
type limits struct {
	Options
	calls sync.Pool
	log   unenforced.Log
}

// put returns a call to the pool.
func (l *limits) put(c *call) {
	c.descriptors.reset()
	l.calls.Put(c)
}

// middleware decides before the handler runs, which may take long. The function decide reports
// whether the request is limited. A mistake of the caller must not leave the handler without a limit.
func middleware(opts *Options, complete bool, needs string, decide func(*http.Request, *call) (limited bool, err error)) func(http.Handler) http.Handler {
	l := &limits{Options: *cmp.Or(opts, &Options{}), calls: sync.Pool{New: func() any { return &call{} }}}
	mistake := l.check()
	if !complete {
		mistake = errors.New(needs)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if mistake != nil {
				l.log.Warn("httplimit: every request gets status 500", mistake)
				respondError(w, http.StatusInternalServerError, "invalid rate limit")
				return
			}
			c := l.calls.Get().(*call)
			limited, err := decide(r, c)
			switch {
			case err != nil:
				l.put(c)
				l.failed(w, r, next, err)
			case limited && !l.respond(w, r, &c.decision):
				l.put(c)
			case limited && c.decision.HoldsPermits():
				l.serveHolding(w, r, next, c)
			default:
				l.put(c)
				next.ServeHTTP(w, r)
			}
		})
	}
}

// serveHolding runs the handler and then releases the permits of the request, even if the
// handler panics or calls runtime.Goexit.
func (l *limits) serveHolding(w http.ResponseWriter, r *http.Request, next http.Handler, c *call) {
	defer func() {
		err := c.decision.Release(r.Context())
		l.put(c)
		if err != nil {
			l.report(r, "httplimit: permits of requests that have ended are not released until they expire", err)
		}
	}()
	next.ServeHTTP(w, r)
}

// failed handles a request whose decision failed.
func (l *limits) failed(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	// A store may wrap the cancellation in an error of its own, so ask the request.
	if errors.Is(r.Context().Err(), context.Canceled) {
		w.WriteHeader(statusClientClosed)
		return
	}
	if l.FailClosed {
		l.report(r, "httplimit: requests are refused because their rate limit is unknown", err)
		l.unavailable(w, r)
		return
	}
	l.report(r, "httplimit: requests pass without a rate limit", err)
	next.ServeHTTP(w, r)
}

// report passes an error to OnError, or else logs it.
func (l *limits) report(r *http.Request, effect string, err error) {
	if l.OnError != nil {
		l.OnError(r, err)
		return
	}
	l.log.Warn(effect, err)
}
