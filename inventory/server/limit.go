package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

const (
	// counterBytes limits the memory of the clients' counters, which is enough for a million
	// clients at a time. Further clients share counters.
	counterBytes = 64 << 20
	// redisTimeout limits the wait of a request for its counter.
	redisTimeout = 500 * time.Millisecond
)

// limit returns the middleware that enforces RATE_LIMIT, nil without a limit, and a function
// that closes its store.
func limit(s *Settings, clients *httpx.Clients, log *slog.Logger) (layer httpx.Middleware, closeStore func() error, err error) {
	closeStore = func() error { return nil }
	if s.RateLimit == 0 {
		return nil, closeStore, nil
	}
	var store ratelimit.Store = memstore.MustNew(&memstore.Options{MaxBytes: counterBytes})
	opts := &ratelimit.Options{CounterKeyPrefix: "ashlar-inventory:", Log: log}
	if s.RateLimitRedisURL != "" {
		redis, err := openRedis(s.RateLimitRedisURL, log)
		if err != nil {
			return nil, nil, fmt.Errorf("RATE_LIMIT_REDIS_URL: %w", err)
		}
		closeStore = redis.Close
		// If Redis fails, each server counts separately: some limit is better than none.
		opts.OnStoreFailure, opts.Fallback = ratelimit.FailLocal, store
		store = redis
	}
	limiter, err := ratelimit.NewLimiter("requests", store, ratelimit.Per(uint32(s.RateLimit), ratelimit.Minute), opts)
	if err != nil {
		return nil, nil, fmt.Errorf("RATE_LIMIT: %w", err)
	}
	return httplimit.PerKey(limiter, clients.Key, &httplimit.Options{
		Headers: httplimit.XRateLimitHeaders, ResetTime: true,
		Denied: httpx.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
			return httpx.Errorf(http.StatusTooManyRequests, "Too many requests")
		}),
	}), closeStore, nil
}

// exceptDocs returns the limit of the API without the page that documents it: to read it takes no share
// of a client's limit. limit may be nil.
func exceptDocs(limit httpx.Middleware) httpx.Middleware {
	if limit == nil {
		return nil
	}
	return func(next http.Handler) http.Handler {
		limited := limit(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isDocs(r) {
				next.ServeHTTP(w, r)
				return
			}
			limited.ServeHTTP(w, r)
		})
	}
}

// isDocs reports whether a request reads the documentation of the API.
func isDocs(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch p := r.URL.Path; p {
	case "/openapi.json", "/docs", "/docs/":
		return true
	default:
		return strings.HasPrefix(p, "/docs/") && p == path.Clean(p)
	}
}

// openRedis returns a store for a URL that [Parse] has checked. It does not connect.
func openRedis(text string, log *slog.Logger) (*redisstore.Store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is not a URL") // the error of url.Parse would show the password
	}
	opts := &redisstore.Options{Timeout: redisTimeout, Log: log}
	if password, ok := u.User.Password(); ok {
		opts.Auth = password
		if name := u.User.Username(); name != "" {
			opts.Auth = name + ":" + password
		}
	}
	if u.Scheme == "rediss" {
		opts.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	port := cmp.Or(u.Port(), "6379")
	return redisstore.New(net.JoinHostPort(u.Hostname(), port), opts)
}
