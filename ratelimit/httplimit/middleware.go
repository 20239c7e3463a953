package httplimit

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/clientkey"
	"github.com/ashlar-go/ashlar/ratelimit"
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
// PerKey panics if limiter or key is nil. opts may be nil.
func PerKey(limiter *ratelimit.Limiter, key func(*http.Request) string, opts *Options) func(http.Handler) http.Handler {
	if limiter == nil || key == nil {
		panic("httplimit: PerKey needs a limiter and a key function")
	}
	calls := newCalls()
	return middleware(opts, func(r *http.Request) (result, error) {
		k := key(r)
		if k == "" {
			return result{}, nil
		}
		if !limiter.Algorithm().HasPermits() {
			s, err := limiter.Allow(r.Context(), clientkey.Short(k))
			return result{status: s, denied: s.Code == ratelimit.OverLimit, retryAfter: s.RetryAfter()}, err
		}
		c := calls.Get().(*call)
		return c.result(limiter.AllowInto(r.Context(), clientkey.Short(k), 1, &c.decision))
	})
}

// PerRequest returns a middleware that holds requests to the rules of one domain. The
// function describe adds the descriptors that the rules are matched with; a request for
// which it adds none is not limited. Values that a client chooses, such as paths, become
// part of counter names: bound them by rules with values, or in length.
//
// The headers report the tightest of the limits that were applied
// ([ratelimit.Decision.Tightest]). Retry-After is [ratelimit.Decision.RetryAfter].
//
// A request under limits of ratelimit.Concurrency holds its permits until its handler has returned.
//
// PerRequest panics if engine or describe is nil or domain is empty. opts may be nil.
func PerRequest(engine *ratelimit.Engine, domain string, describe func(*http.Request, *Descriptors), opts *Options) func(http.Handler) http.Handler {
	if engine == nil || describe == nil || domain == "" {
		panic("httplimit: PerRequest needs an engine, a domain and a function that describes requests")
	}
	calls := newCalls()
	return middleware(opts, func(r *http.Request) (result, error) {
		c := calls.Get().(*call)
		describe(r, &c.descriptors)
		if len(c.descriptors.list) == 0 {
			c.put()
			return result{}, nil
		}
		c.request.Domain, c.request.Descriptors = domain, c.descriptors.list
		return c.result(engine.DecideInto(r.Context(), &c.request, &c.decision))
	})
}

// call is the memory that a decision needs.
type call struct {
	pool        *sync.Pool // to which it returns
	descriptors Descriptors
	request     ratelimit.Request
	decision    ratelimit.Decision
}

func newCalls() *sync.Pool {
	calls := &sync.Pool{}
	calls.New = func() any { return &call{pool: calls} }
	return calls
}

// put returns the call to its pool.
func (c *call) put() {
	c.descriptors.reset()
	c.pool.Put(c)
}

// result returns the decision. The call returns to its pool, unless it holds permits.
func (c *call) result(err error) (result, error) {
	if err != nil {
		c.put()
		return result{}, err
	}
	d := &c.decision
	out := result{denied: d.Code == ratelimit.OverLimit, retryAfter: d.RetryAfter()}
	if s := d.Tightest(); s != nil {
		out.status = *s
	}
	if d.HoldsPermits() {
		out.holding = c
	} else {
		c.put()
	}
	return out, nil
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

// result describes the decision about a request. The zero result lets it pass.
type result struct {
	status     ratelimit.Status // for the headers
	denied     bool
	retryAfter time.Duration
	holding    *call // of permits that the request holds, or nil
}

// statusClientClosed is the status of a request that was canceled while it was being
// counted. No client receives it; it is for access logs, which would otherwise show 200.
// No RFC defines it, but several servers log it.
const statusClientClosed = 499

// middleware decides before the handler runs, which may take long.
func middleware(opts *Options, decide func(*http.Request) (result, error)) func(http.Handler) http.Handler {
	o := opts.withDefaults()
	names := headerNames[o.Headers]
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			result, err := decide(r)
			if err != nil {
				o.failed(w, r, next, err)
				return
			}
			if result.status.Limited && names != nil {
				o.setHeaders(w.Header(), names.Fields(&result.status))
			}
			switch {
			case result.denied:
				setRetryAfter(w, result.retryAfter)
				o.Denied.ServeHTTP(w, r)
			case result.holding != nil:
				o.serveHolding(w, r, next, result.holding)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// serveHolding runs the handler and then releases the permits of the request, even if the
// handler panics or calls runtime.Goexit.
func (o *Options) serveHolding(w http.ResponseWriter, r *http.Request, next http.Handler, c *call) {
	defer func() {
		err := c.decision.Release(r.Context())
		c.put()
		if err != nil && o.OnError != nil {
			o.OnError(r, err)
		}
	}()
	next.ServeHTTP(w, r)
}

// failed handles a request whose decision failed.
func (o *Options) failed(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	// A store may wrap the cancellation in an error of its own, so ask the request.
	if errors.Is(r.Context().Err(), context.Canceled) {
		w.WriteHeader(statusClientClosed)
		return
	}
	if o.OnError != nil {
		o.OnError(r, err)
	}
	if o.FailClosed {
		setRetryAfter(w, time.Second)
		o.Unavailable.ServeHTTP(w, r)
		return
	}
	next.ServeHTTP(w, r)
}

func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.FormatInt(int64(wait/time.Second), 10))
}

// setHeaders sets the headers. Their values share one string and one array, which makes
// two allocations instead of six.
func (o *Options) setHeaders(h http.Header, fields [3]ratelimit.HeaderField) {
	if o.ResetTime {
		fields[2].Value += uint64(o.Now().Unix())
	}
	var buf [3 * len("18446744073709551615")]byte
	var ends [3]int
	b := buf[:0]
	for i := range fields {
		b = strconv.AppendUint(b, fields[i].Value, 10)
		ends[i] = len(b)
	}
	text := string(b)
	values := &[3]string{text[:ends[0]], text[ends[0]:ends[1]], text[ends[1]:]}
	for i := range fields {
		// Without spare capacity, so that a handler that adds a value does not overwrite
		// the next one.
		h[fields[i].Name] = values[i : i+1 : i+1]
	}
}
