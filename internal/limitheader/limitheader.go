// Package limitheader names the response headers that report a rate limit. Middleware sends them, and
// CORS lets pages read them.
package limitheader

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
