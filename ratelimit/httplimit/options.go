package httplimit

import (
	"fmt"
	"net/http"
	"time"
)

// HeaderStyle selects the headers that report a limit: the requests that one window holds, those
// that are left, and the seconds until it ends.
type HeaderStyle uint8

// The styles.
const (
	// RateLimitHeaders are RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
	RateLimitHeaders HeaderStyle = iota
	// XRateLimitHeaders are X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset.
	XRateLimitHeaders
	// NoHeaders omits them. Retry-After is still sent when a request is rejected.
	NoHeaders
	// StructuredHeaders are RateLimit-Policy and RateLimit as structured fields, as in
	// draft-ietf-httpapi-ratelimit-headers-10, with an item for each limit that was applied:
	//
	//	RateLimit-Policy: "burst";q=10;w=1, "1000-per-86400s";q=1000;w=86400
	//	RateLimit: "burst";r=9;t=1, "1000-per-86400s";r=72;t=3600
	//
	// The name is that of the limit ([ratelimit.Status].Name), or its numbers. Limits that agree in both
	// are one item, that of the tightest. For a request over the limit t is the time until a retry can pass.
	StructuredHeaders
)

// Options configure a middleware. The zero value, like nil, is ready for use.
type Options struct {
	// Headers selects the headers that report a limit. They are set on every response,
	// rejected or not, if a limit was applied. Of two middlewares around one handler the
	// inner one's are sent. Default: RateLimitHeaders.
	Headers HeaderStyle
	// ResetTime makes the reset header the time at which the window ends, in Unix
	// seconds, instead of the seconds until then, as many public APIs define
	// X-RateLimit-Reset. It has no effect on StructuredHeaders.
	ResetTime bool
	// Now is the clock for ResetTime, and should be that of the limits. Default: time.Now.
	Now func() time.Time

	// FailClosed rejects a request when the decision fails: the store failed, or the
	// engine has no rules yet. By default such a request passes, uncounted and without
	// headers.
	FailClosed bool
	// OnError, if not nil, is called with the *ratelimit.Error of each failed decision,
	// whether the request passes or not, and when the permits that a request held under limits of
	// ratelimit.Concurrency can't be released: then they expire. It is not
	// called for requests that clients
	// canceled while they were being counted: those get status 499 and never pass. It
	// must be safe for concurrent use and return soon: the request waits. Default: slog.Default
	// gets one warning a minute for each kind of error, which says what to do.
	OnError func(*http.Request, error)

	// Denied responds to a request over its limit, after Retry-After and the other
	// headers have been set. Default: status 429 and the body
	//
	//	{"status":"error","message":"too many requests: try again in 12 s"}
	Denied http.Handler
	// Unavailable responds to a request that FailClosed rejects, after Retry-After has
	// been set. Default: as for Denied, but status 503 and "rate limit unavailable".
	Unavailable http.Handler
}

func (o *Options) check() error {
	if o.Headers > StructuredHeaders {
		return fmt.Errorf("unknown Options.Headers %d: use RateLimitHeaders, XRateLimitHeaders, StructuredHeaders or NoHeaders", o.Headers)
	}
	return nil
}
