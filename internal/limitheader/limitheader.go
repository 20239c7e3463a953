// Package limitheader names the response headers that report a rate limit. Middleware sends them, CORS
// lets pages read them, and clients wait for Retry-After.
package limitheader

import (
	"net/http"
	"strconv"
	"time"
)

// RateLimit and XRateLimit are lists of the headers with the limit, the remaining requests and the end
// of the window. Policy and Service report limits as structured fields. RetryAfter is sent beside all.
const (
	RateLimit  = "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"
	XRateLimit = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	Policy     = "RateLimit-Policy"
	Service    = "RateLimit"
	RetryAfter = "Retry-After"

	All = RateLimit + ", " + XRateLimit + ", " + Policy + ", " + Service + ", " + RetryAfter
)

// Wait returns how long a value of Retry-After says to wait: seconds, or until a date (RFC 9110, section 10.2.3).
// It reports false for other values.
func Wait(retryAfter string) (wait time.Duration, ok bool) {
	if seconds, err := strconv.ParseUint(retryAfter, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(retryAfter)
	return max(time.Until(at), 0), err == nil
}
