package httpx

import "net/http"

// DefaultBodyLimit is 1 MiB (specification, "Limits").
const DefaultBodyLimit = 1 << 20

// BodyLimit is a layer that answers 413 to a request whose body is announced to be
// larger than limit bytes, and fails the reading of one that turns out to be:
// [WriteError] makes a 413 of that error too. 0 means [DefaultBodyLimit].
func BodyLimit(limit int64) Middleware {
	if limit == 0 {
		limit = DefaultBodyLimit
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > limit {
				// What is on its way is not worth reading.
				w.Header().Set("Connection", "close")
				WriteError(w, r, tooLarge(limit))
				return
			}
			if r.Body != nil && r.Body != http.NoBody {
				r.Body = http.MaxBytesReader(w, r.Body, limit)
			}
			next.ServeHTTP(w, r)
		})
	}
}
