package httplimit

import (
	"fmt"
	"net/http"
	"time"
)

// HeaderStyle says under which names a client is told about its limit. All styles
// carry the same three numbers: the requests that one window holds, those that are
// left of it, and the seconds until it ends.
type HeaderStyle uint8

// The styles.
const (
	// RateLimitHeaders are RateLimit-Limit, RateLimit-Remaining and
	// RateLimit-Reset.
	RateLimitHeaders HeaderStyle = iota
	// XRateLimitHeaders are X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset.
	XRateLimitHeaders
	// NoHeaders leaves them out. Retry-After is still sent when a request is refused.
	NoHeaders
)

// Options are the choices of a middleware. The zero value, like nil, is fit for use.
type Options struct {
	// Headers chooses the headers that tell a client about its limit. They are set on
	// every answer, refused or not, if a limit was applied. Of two middlewares around
	// one handler the inner one's are seen. Default: RateLimitHeaders.
	Headers HeaderStyle
	// ResetTime has the third header be the time at which the window ends, in Unix
	// seconds, and not the seconds until then, as clients of many public APIs know it
	// from X-RateLimit-Reset.
	ResetTime bool
	// Now is the clock for ResetTime, and should be that of the limits. Default: time.Now.
	Now func() time.Time

	// FailClosed refuses a request when it can't be decided whether it is within its
	// limits: the store does not answer, or the engine has no rules yet. By default
	// such a request passes, uncounted and without headers.
	FailClosed bool
	// OnError, if not nil, is told each time that can't be decided, whether the request
	// passes or not. The error is a *ratelimit.Error. It is not told of requests
	// that their clients cancelled while they were being counted: those are
	// answered with 499, to nobody, and never pass. It may be called by any number of
	// goroutines and should return soon: the request waits.
	OnError func(*http.Request, error)

	// Denied answers a request over its limit. Retry-After is set by then, and so are
	// the headers. Default: status 429 and the body
	//
	//	{"status":"error","message":"too many requests"}
	Denied http.Handler
	// Unavailable answers a request that FailClosed refuses. Retry-After is set by
	// then. Default: as for Denied, but status 503 and "rate limit unavailable".
	Unavailable http.Handler
}

// gate is what both middlewares do once there is an outcome.
type gate struct {
	opts  Options
	names headerNames
}

// newGate fills in the defaults.
func newGate(opts *Options) *gate {
	g := &gate{}
	if opts != nil {
		g.opts = *opts
	}
	names, ok := g.opts.Headers.names()
	if !ok {
		panic(fmt.Sprintf("httplimit: Options.Headers is %d: use RateLimitHeaders, XRateLimitHeaders or NoHeaders", g.opts.Headers))
	}
	g.names = names
	if g.opts.Now == nil {
		g.opts.Now = time.Now
	}
	if g.opts.Denied == nil {
		g.opts.Denied = newRefusal(http.StatusTooManyRequests, "too many requests")
	}
	if g.opts.Unavailable == nil {
		g.opts.Unavailable = newRefusal(http.StatusServiceUnavailable, "rate limit unavailable")
	}
	return g
}
