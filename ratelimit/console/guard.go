package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/clientkey"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// MinTokenBytes is the length of the shortest token that is accepted.
const MinTokenBytes = 16

// failedTries is how many requests with a wrong token an address may send in a minute. Its further ones
// are refused until the minute ends.
const failedTries = 10

// guard checks a token.
type guard struct {
	token [sha256.Size]byte

	mu       sync.Mutex // of the comparison, so that requests at once are not more tries
	failures *ratelimit.Limiter
}

// newGuard returns nil for an empty token.
func newGuard(option, token string, now func() time.Time) (*guard, error) {
	if token == "" {
		return nil, nil
	}
	if len(token) < MinTokenBytes {
		return nil, fmt.Errorf("console: Options.%s is too short: use at least %d bytes", option, MinTokenBytes)
	}
	store := memstore.New(&memstore.Options{MaxBytes: 1 << 20, Now: now})
	failures, err := ratelimit.NewLimiter("failures", store, ratelimit.Per(failedTries, ratelimit.Minute), &ratelimit.Options{Now: now})
	if err != nil {
		return nil, err
	}
	return &guard{token: sha256.Sum256([]byte(token)), failures: failures}, nil
}

// check returns an error unless a form has the token in the field "secret" and arrived over a connection
// that nobody else can read.
func (g *guard) check(r *http.Request) error {
	key, private := sender(r)
	if !private {
		return httpx.Errorf(http.StatusForbidden, "The connection is not encrypted: use TLS, or a loopback address of the server, such as through a tunnel")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ctx := context.WithoutCancel(r.Context())
	if s, err := g.failures.AllowN(ctx, key, 0); err != nil || s.Remaining == 0 {
		return httpx.Errorf(http.StatusTooManyRequests, "Too many requests with a wrong token from this address: wait a minute")
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("secret")))
	if subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return nil
	}
	_, _ = g.failures.AllowN(ctx, key, 1)
	return httpx.Errorf(http.StatusForbidden, "The token is missing or wrong")
}

// sender returns the key of a sender's failures, and whether nobody can read what it sends.
func sender(r *http.Request) (key string, private bool) {
	key, ok := clientkey.Network(r.RemoteAddr)
	if r.TLS != nil {
		return key, ok
	}
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	return key, ok && err == nil && addr.Addr().Unmap().IsLoopback()
}

// allowed checks a token, and logs a refusal. what names the change.
func (c *Console) allowed(g *guard, r *http.Request, what string) error {
	if g == nil {
		return httpx.Errorf(http.StatusForbidden, "This is not allowed here: no token is set")
	}
	err := g.check(r)
	if err != nil {
		c.log.WarnContext(r.Context(), "a change was denied", "change", what, "from", r.RemoteAddr, "err", err)
	}
	return err
}
