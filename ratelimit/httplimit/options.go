package httplimit

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// HeaderStyle selects the names of the headers that report a limit. All styles carry
// the same three numbers: the requests that one window holds, those that are left, and
// the seconds until it ends.
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
)

// headerNames are canonical, so that they can be keys of an http.Header.
var headerNames = map[HeaderStyle]*ratelimit.HeaderNames{
	RateLimitHeaders:  {Limit: "Ratelimit-Limit", Remaining: "Ratelimit-Remaining", Reset: "Ratelimit-Reset"},
	XRateLimitHeaders: {Limit: "X-Ratelimit-Limit", Remaining: "X-Ratelimit-Remaining", Reset: "X-Ratelimit-Reset"},
	NoHeaders:         nil,
}

// Options configure a middleware. The zero value, like nil, is ready for use.
type Options struct {
	// Headers selects the headers that report a limit. They are set on every response,
	// rejected or not, if a limit was applied. Of two middlewares around one handler the
	// inner one's are sent. Default: RateLimitHeaders.
	Headers HeaderStyle
	// ResetTime makes the reset header the time at which the window ends, in Unix
	// seconds, instead of the seconds until then, as many public APIs define
	// X-RateLimit-Reset.
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
	// must be safe for concurrent use and return soon: the request waits.
	OnError func(*http.Request, error)

	// Denied responds to a request over its limit, after Retry-After and the other
	// headers have been set. Default: status 429 and the body
	//
	//	{"status":"error","message":"too many requests"}
	Denied http.Handler
	// Unavailable responds to a request that FailClosed rejects, after Retry-After has
	// been set. Default: as for Denied, but status 503 and "rate limit unavailable".
	Unavailable http.Handler
}

// withDefaults panics if the header style is unknown.
func (o *Options) withDefaults() *Options {
	filled := *cmp.Or(o, &Options{})
	if _, ok := headerNames[filled.Headers]; !ok {
		panic(fmt.Sprintf("httplimit: unknown Options.Headers %d: use RateLimitHeaders, XRateLimitHeaders or NoHeaders", filled.Headers))
	}
	if filled.Now == nil {
		filled.Now = time.Now
	}
	if filled.Denied == nil {
		filled.Denied = errorResponse(http.StatusTooManyRequests, "too many requests")
	}
	if filled.Unavailable == nil {
		filled.Unavailable = errorResponse(http.StatusServiceUnavailable, "rate limit unavailable")
	}
	return &filled
}

// errorResponse returns a handler with always the same response, which caches must not
// store.
func errorResponse(status int, message string) http.Handler {
	body := []byte(`{"status":"error","message":"` + message + "\"}\n")
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(body) // ignore the error: the client disconnected
	})
}
