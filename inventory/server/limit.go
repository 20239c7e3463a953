package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/breaker"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

const (
	// counterBytes bounds the memory of the counters of clients. Beyond it new clients
	// share counters, which is a million of them at once.
	counterBytes = 64 << 20
	// redisPatience is how long a request waits for a counter, at the most.
	redisPatience = 500 * time.Millisecond
)

// limit is the layer that holds clients to RATE_LIMIT, and what closes it. Without a limit
// both do nothing.
func limit(s *Settings, clients *httpx.Clients, log *slog.Logger) (layer httpx.Middleware, closeStore func() error, err error) {
	closeStore = func() error { return nil }
	if s.RateLimit == 0 {
		return nil, closeStore, nil
	}
	var store ratelimit.Store = memstore.New(&memstore.Options{MaxBytes: counterBytes})
	opts := &ratelimit.Options{CounterKeyPrefix: "ashlar-inventory:", Log: log}
	if s.RateLimitRedisURL != "" {
		redis, err := openRedis(s.RateLimitRedisURL, log)
		if err != nil {
			return nil, nil, fmt.Errorf("RATE_LIMIT_REDIS_URL: %w", err)
		}
		closeStore = redis.Close
		// Without its Redis each server counts by itself: some limit is better than none.
		opts.OnStoreFailure, opts.Fallback = ratelimit.FailLocal, store
		store = breaker.New(redis, &breaker.Options{Log: log}).Store()
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

// openRedis makes a store of a URL that [Parse] has seen. It does not connect.
func openRedis(text string, log *slog.Logger) (*redisstore.Store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("is no URL") // the error of url.Parse shows it
	}
	opts := &redisstore.Options{Timeout: redisPatience, Log: log}
	if password, ok := u.User.Password(); ok {
		opts.Auth = password
		if name := u.User.Username(); name != "" {
			opts.Auth = name + ":" + password
		}
	}
	if u.Scheme == "rediss" {
		opts.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	return redisstore.New(net.JoinHostPort(u.Hostname(), port), opts)
}
