package httpx

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/clientkey"
)

// Secret is the hash of a token or another text that others must not know. It is compared in constant time.
type Secret [sha256.Size]byte

// NewSecret returns the hash of a text.
func NewSecret(text string) Secret { return sha256.Sum256([]byte(text)) }

// Is reports whether a text is the secret.
func (s Secret) Is(text string) bool {
	sum := NewSecret(text)
	return subtle.ConstantTimeCompare(s[:], sum[:]) == 1
}

// BearerToken returns the token of an Authorization header (RFC 6750), "" if it has none. The scheme is Bearer in any case.
func BearerToken(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

const (
	// MinTokenBytes is the length of the shortest token of a TokenGuard.
	MinTokenBytes = 16
	// maxFailures is the number of wrong tokens that an address may send in a minute.
	maxFailures = 10
	// maxFailing is the number of addresses that are counted at a time. Beyond that, counting starts again.
	maxFailing = 10_000
)

// Errors of TokenGuard.Check.
var (
	ErrTokenFailures = errors.New("too many requests without the right token from this address: wait a minute")
	ErrTokenExposed  = errors.New("the connection is not private: use TLS or a loopback address, without a proxy")
	ErrTokenWrong    = errors.New("the token is missing or wrong")
)

// TokenGuard admits holders of a token over connections that nobody else can read. After ten failures of an address in
// a minute, further ones are ErrTokenFailures; the right token is accepted nevertheless, so that strangers behind the
// same address can't lock its holder out. Create one with [NewTokenGuard]; it is safe for concurrent use.
type TokenGuard struct {
	token Secret
	now   func() time.Time

	mu       sync.Mutex
	minute   int64
	failures map[string]int // of the minute, by address
}

// NewTokenGuard returns a guard for a token of at least MinTokenBytes bytes. Use random ones. now is the clock of the
// minutes; nil means time.Now.
func NewTokenGuard(token string, now func() time.Time) (*TokenGuard, error) {
	if len(token) < MinTokenBytes {
		return nil, fmt.Errorf("the token is too short: use at least %d bytes", MinTokenBytes)
	}
	if now == nil {
		now = time.Now
	}
	return &TokenGuard{token: NewSecret(token), now: now}, nil
}

// Check returns nil for the right token over a private connection, and else one of the errors above. Failures are
// counted for address.
func (g *TokenGuard) Check(address string, private bool, token string) error {
	if g.token.Is(token) && private {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if minute := g.now().Unix() / 60; minute != g.minute || len(g.failures) >= maxFailing {
		g.minute, g.failures = minute, map[string]int{}
	}
	if g.failures[address] >= maxFailures {
		return ErrTokenFailures
	}
	g.failures[address]++
	if !private {
		return ErrTokenExposed
	}
	return ErrTokenWrong
}

// CheckRequest is Check for a request: the connection is private if it has TLS or comes from a loopback address, and is
// not [Forwarded]: TLS of a proxy says nothing about the connection to the proxy. The error is an [*Error] with status 429 or 403.
func (g *TokenGuard) CheckRequest(r *http.Request, token string) error {
	key, ok := clientkey.Network(r.RemoteAddr)
	err := g.Check(key, ok && !Forwarded(r.Header) && (r.TLS != nil || parseAddr(r.RemoteAddr).IsLoopback()), token)
	if err == nil {
		return nil
	}
	status := http.StatusForbidden
	if errors.Is(err, ErrTokenFailures) {
		status = http.StatusTooManyRequests
	}
	text := err.Error()
	return &Error{Status: status, Message: strings.ToUpper(text[:1]) + text[1:], Err: err}
}

// Forwarded reports whether the headers of a request, or the metadata of a gRPC call, say that a proxy sent it on. It
// may then have come from anywhere, over connections that others can read, whatever the headers say of these.
func Forwarded(headers map[string][]string) bool {
	for name := range headers {
		name = strings.ToLower(name)
		if name == "via" || name == "x-real-ip" || name == "x-original-host" || name == "client-ip" || strings.HasSuffix(name, "-client-ip") ||
			strings.Contains(name, "forwarded") || slices.ContainsFunc(proxyPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return true
		}
	}
	return false
}

// proxyPrefixes begin the names of headers that proxies and content networks add.
var proxyPrefixes = []string{"x-envoy-", "cf-", "x-amzn-", "x-appengine-", "fastly-", "fly-"}

const (
	// CodeLifetime is the time for which a code of OneTimeCodes is valid.
	CodeLifetime = 10 * time.Minute
	maxCodes     = 32 // the oldest makes room
)

// OneTimeCodes are codes that can be used once, within CodeLifetime, such as those of sign-in links. At most 32 are open.
// The zero value has none, and is safe for concurrent use.
type OneTimeCodes struct {
	mu   sync.Mutex
	open []oneTimeCode
}

type oneTimeCode struct {
	secret  Secret
	value   string
	expires time.Time
}

// Issue returns a new code that stands for a value.
func (c *OneTimeCodes) Issue(value string, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == maxCodes {
		c.open = slices.Delete(c.open, 0, 1)
	}
	code := rand.Text()
	c.open = append(c.open, oneTimeCode{NewSecret(code), value, now.Add(CodeLifetime)})
	return code
}

// Use returns the value of a code, and whether the code was valid, which it is no longer afterwards.
func (c *OneTimeCodes) Use(code string, now time.Time) (value string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.open, func(o oneTimeCode) bool { return o.secret.Is(code) })
	if i < 0 {
		return "", false
	}
	used := c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	return used.value, now.Before(used.expires)
}
