// Package limitheader lists the response headers that report a rate limit. Middleware sends them,
// and CORS lets pages read them.
package limitheader

import "slices"

// The headers of the limit, the remaining requests and the end of the window, in two styles.
var (
	RateLimit  = [3]string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
	XRateLimit = [3]string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
)

// Policy and Service report limits as structured fields, and RetryAfter is sent in all styles.
const (
	Policy     = "RateLimit-Policy"
	Service    = "RateLimit"
	RetryAfter = "Retry-After"
)

// All returns the headers of all styles.
func All() []string {
	return slices.Concat(RateLimit[:], XRateLimit[:], []string{Policy, Service, RetryAfter})
}
