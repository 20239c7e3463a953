package httplimit

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/internal/unenforced"
)

// Respond tells a client about a decision that a handler made itself, such as one of
// [ratelimit.Limiter.AllowN], as the middlewares do. It sets the headers, and responds to a request
// over its limit. It reports whether the request may go on; if not, the response is written.
//
//	status, err := limiter.AllowN(r.Context(), key, cost)
//	if err != nil {
//		// ...
//	}
//	if !httplimit.Respond(w, r, status, nil) {
//		return
//	}
//
// A Status without a decision, as AllowN returns it beside an error, gets the response of
// Options.Unavailable. Invalid options get status 500 and are logged. opts may be nil; FailClosed
// and OnError have no effect.
func Respond(w http.ResponseWriter, r *http.Request, status ratelimit.Status, opts *Options) bool {
	return RespondDecision(w, r, &ratelimit.Decision{Code: status.Code, Statuses: []ratelimit.Status{status}}, opts)
}

// invalidResponses are those of Respond with invalid options.
var invalidResponses unenforced.Log

// RespondDecision is Respond for the decision of an Engine, or of [ratelimit.Limiter.AllowInto].
// It does not release permits.
func RespondDecision(w http.ResponseWriter, r *http.Request, d *ratelimit.Decision, opts *Options) bool {
	o := cmp.Or(opts, &Options{})
	if err := o.check(); err != nil {
		invalidResponses.Warn("httplimit: a request gets status 500", err)
		respondError(w, http.StatusInternalServerError, "invalid rate limit")
		return false
	}
	return o.respond(w, r, d)
}

// respond sets the headers of a decision. It responds to a request that was refused, and reports
// whether the request may go on.
func (o *Options) respond(w http.ResponseWriter, r *http.Request, d *ratelimit.Decision) bool {
	if o.Headers == StructuredHeaders {
		setStructured(w.Header(), d.Statuses)
	} else if s := d.Tightest(); s != nil && o.Headers != NoHeaders {
		o.setHeaders(w.Header(), headerNames[o.Headers], s)
	}
	switch d.Code {
	case ratelimit.OK:
		return true
	case ratelimit.OverLimit:
		refuse(w, r, o.Denied, d.RetryAfter(), http.StatusTooManyRequests, "too many requests")
	default:
		o.unavailable(w, r)
	}
	return false
}

// unavailable responds to a request without a decision.
func (o *Options) unavailable(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, o.Unavailable, time.Second, http.StatusServiceUnavailable, "rate limit unavailable")
}

// refuse responds by the handler of the options, or without one by respondError, with the wait.
func refuse(w http.ResponseWriter, r *http.Request, own http.Handler, retryAfter time.Duration, status int, message string) {
	seconds := strconv.FormatInt(int64((retryAfter+time.Second-1)/time.Second), 10)
	w.Header().Set(limitheader.RetryAfter, seconds)
	if own != nil {
		own.ServeHTTP(w, r)
		return
	}
	respondError(w, status, message+": try again in "+seconds+" s")
}

// respondError writes a response that caches must not store.
func respondError(w http.ResponseWriter, status int, message string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"status":"error","message":"`+message+"\"}\n") // ignore the error: the client disconnected
}

// headerNames are canonical, so that they can be keys of an http.Header.
var headerNames = [...][3]string{RateLimitHeaders: canonical(limitheader.RateLimit), XRateLimitHeaders: canonical(limitheader.XRateLimit)}

func canonical(list string) (names [3]string) {
	for i, name := range strings.Split(list, ", ") {
		names[i] = http.CanonicalHeaderKey(name)
	}
	return names
}

// setHeaders sets the headers. Their values share one string and one array, which makes
// two allocations instead of six.
func (o *Options) setHeaders(h http.Header, names [3]string, s *ratelimit.Status) {
	numbers := [3]int64{int64(s.RequestsPerUnit), int64(s.Remaining), int64(s.ResetSeconds)}
	if o.ResetTime && o.Now != nil {
		numbers[2] += o.Now().Unix()
	} else if o.ResetTime {
		numbers[2] += time.Now().Unix()
	}
	var buf [3 * len("18446744073709551615")]byte
	var ends [3]int
	b := buf[:0]
	for i, n := range numbers {
		b = strconv.AppendInt(b, n, 10)
		ends[i] = len(b)
	}
	text := string(b)
	values := &[3]string{text[:ends[0]], text[ends[0]:ends[1]], text[ends[1]:]}
	for i, name := range names {
		// Without spare capacity, so that a handler that adds a value does not overwrite
		// the next one.
		h[name] = values[i : i+1 : i+1]
	}
}

// policy is an item of RateLimit-Policy, and the status that RateLimit reports of it.
type policy struct {
	name, params string
	*ratelimit.Status
}

// setStructured sets RateLimit-Policy and RateLimit, with an item for each limit. Limits that agree
// in name and numbers are one policy, and RateLimit has the tightest of them.
func setStructured(h http.Header, statuses []ratelimit.Status) {
	var policies []policy
	for i := range statuses {
		s := &statuses[i]
		if !s.Limited {
			continue
		}
		q, w := s.RequestsPerUnit, int64(max(s.UnitMultiplier, 1))*s.Unit.Seconds()
		numbers, params := fmt.Sprintf("%d-per-%ds", q, w), fmt.Sprintf(";q=%d;w=%d", q, w)
		if s.Algorithm.HasPermits() {
			numbers, params = fmt.Sprintf("%d-at-once", q), fmt.Sprintf(`;q=%d;qu="concurrent-requests"`, q)
		}
		p := policy{cmp.Or(s.Name, numbers), params, s}
		at := slices.IndexFunc(policies, p.sameName)
		for at >= 0 && policies[at].params != params {
			p.name += "-" + numbers // clients tell policies apart by their names
			at = slices.IndexFunc(policies, p.sameName)
		}
		if at < 0 {
			policies = append(policies, p)
		} else if o := policies[at]; s.Remaining < o.Remaining || s.Remaining == o.Remaining && s.RetryAfter() > o.RetryAfter() {
			policies[at] = p
		}
	}
	var limits, left []string
	for _, p := range policies {
		name := quote(p.name)
		limits = append(limits, name+p.params)
		left = append(left, fmt.Sprintf("%s;r=%d;t=%d", name, p.Remaining, (p.RetryAfter()+time.Second-1)/time.Second))
	}
	if len(policies) > 0 {
		h.Set(limitheader.Policy, strings.Join(limits, ", "))
		h.Set(limitheader.Service, strings.Join(left, ", "))
	}
}

func (p *policy) sameName(o policy) bool { return o.name == p.name }

// quote returns a String of structured fields (RFC 9651, 3.3.3). Bytes that it can't hold are
// written as in a Display String (3.3.8): "%" and two hexadecimal digits.
func quote(name string) string {
	b := []byte{'"'}
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' || c == '%' {
			b = fmt.Appendf(b, "%%%02x", c)
			continue
		}
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return string(append(b, '"'))
}
