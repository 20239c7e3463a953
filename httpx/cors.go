package httpx

import (
	"net/http"
	"strings"
)

// CORS is a layer that lets pages of the listed origins read answers, those of errors
// included, and answers their preflights with 204. It refuses nothing: a page that
// is not on the list is refused by [Origins.Protect], and by its browser.
//
// Cookies and Authorization may be sent. Of the headers of an answer, pages see
// X-RateLimit-*, Retry-After, X-Request-ID, X-Response-Time, ETag, Location, Link,
// X-Total-Count, Idempotent-Replayed and Dry-Run.
func (o *Origins) CORS(next http.Handler) http.Handler {
	exposed := []string{strings.Join([]string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
		"X-Request-ID", "X-Response-Time", "ETag", "Location", "Link", "X-Total-Count",
		"Idempotent-Replayed", "Dry-Run",
	}, ", ")}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		vary(h, "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !o.allows(origin, r) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			preflight(w)
			return
		}
		h["Access-Control-Expose-Headers"] = exposed
		next.ServeHTTP(w, r)
	})
}

// preflight says what may be sent. It is the same for all paths: whether a method
// exists is for the request itself to find out.
func preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers",
		"Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-CSRF-Token, X-Request-ID")
	h.Set("Access-Control-Max-Age", "600")
	vary(h, "Access-Control-Request-Method")
	vary(h, "Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
}
