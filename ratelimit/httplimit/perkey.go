package httplimit

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// PerKey returns a middleware that holds requests to one limit, with a counter for
// each key. The key function names the one to count: [RemoteHost], [Header],
// [ForwardedFor] or the caller's own. A request whose key is empty is not limited.
//
// A key of more than 256 bytes is replaced by a hash, so that a client who can
// choose keys cannot choose how much memory each one takes.
//
// PerKey panics if limiter or key is nil. opts may be nil.
func PerKey(limiter *ratelimit.Limiter, key func(*http.Request) string, opts *Options) func(http.Handler) http.Handler {
	if limiter == nil || key == nil {
		panic("httplimit: PerKey needs a limiter and a key function")
	}
	g := newGate(opts)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o := take(limiter, r, key(r))
			g.serve(w, r, next, &o)
		})
	}
}

func take(limiter *ratelimit.Limiter, r *http.Request, key string) outcome {
	if key == "" {
		return outcome{}
	}
	s, err := limiter.Allow(r.Context(), shorten(key))
	return outcome{status: s, over: s.Code == ratelimit.OverLimit, retry: s.ResetSeconds, err: err}
}

const maxKey = 256

func shorten(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}
