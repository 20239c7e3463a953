package httplimit

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxRetryAfter bounds the wait for Retry-After.
const maxRetryAfter = time.Minute

// Transport is an http.RoundTripper for clients: each request waits until the limit allows it, or
// its context is done ([ratelimit.Limiter.Wait]).
//
//	client := &http.Client{Transport: &httplimit.Transport{Limiter: limiter}}
//
// A response 429 or 503 with Retry-After is waited out once and the request sent again, if its body can
// be sent again (http.Request.GetBody) and the wait is at most a minute and within the deadline of its
// context. Otherwise the caller gets the response. It is safe for concurrent use. Fields must not be
// changed after the first request.
type Transport struct {
	// Limiter is required: without it every request fails.
	Limiter *ratelimit.Limiter
	// Key returns the key of a request, which has a counter of its own. With an empty key a request does
	// not wait. Default: the host and port of the URL.
	Key func(*http.Request) string
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip implements http.RoundTripper. Errors are those of Wait, the context and Base.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.send(r)
	if err != nil || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return response, err
	}
	wait, ok := retryAfter(response)
	if deadline, limited := r.Context().Deadline(); !ok || limited && time.Until(deadline) <= wait {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	_ = response.Body.Close()
	r = r.Clone(r.Context())
	if err = backoff.Sleep(r.Context(), wait); err == nil && r.GetBody != nil {
		r.Body, err = r.GetBody()
	}
	if err != nil {
		return nil, err
	}
	return t.send(r)
}

// send waits for the limit and sends a request.
func (t *Transport) send(r *http.Request) (*http.Response, error) {
	key, err := r.URL.Host, error(nil)
	if t.Key != nil {
		key = t.Key(r)
	}
	switch {
	case t.Limiter == nil:
		err = errors.New("httplimit: Transport has no Limiter: set the one that ratelimit.NewLimiter returned")
	case key != "":
		err = t.Limiter.Wait(r.Context(), key)
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper has to
		}
		return nil, err
	}
	return cmp.Or(t.Base, http.DefaultTransport).RoundTrip(r)
}

// retryAfter returns how long a response asks to wait before the request is sent again. It reports false
// if it does not, or for more than maxRetryAfter.
func retryAfter(response *http.Response) (wait time.Duration, ok bool) {
	refused := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
	wait, ok = limitheader.Wait(response.Header.Get(limitheader.RetryAfter))
	return wait, refused && ok && wait <= maxRetryAfter
}
