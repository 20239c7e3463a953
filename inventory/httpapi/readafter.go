package httpapi

import (
	"net/http"
	"strconv"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// readAfter is the header, and readAfterCookie the cookie, with the position of the newest change that a client has
// seen.
const (
	readAfter         = "Read-After"
	readAfterCookie   = "read_after"
	readAfterLifetime = 3600 // seconds
)

// ReadAfter is middleware for an API or a console whose store reads from a replica: clients see their own changes.
//
// A response to a request that has changed records has the header Read-After. While the replica lags behind its
// value, a request with that header is served from the database itself, by any of several processes. Browsers send
// it as a cookie, which requests with cookies get. A header that is not a number is a 400.
func ReadAfter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var at int64
		var err error
		cookie, _ := r.Cookie(readAfterCookie)
		switch given := r.Header.Get(readAfter); {
		case given != "":
			at, err = strconv.ParseInt(given, 10, 64)
		case cookie != nil:
			at, _ = strconv.ParseInt(cookie.Value, 10, 64)
		}
		if err != nil || at < 0 {
			httpx.WriteError(w, r, httpx.Errorf(http.StatusBadRequest, "The header Read-After is not the value of an earlier response: send that, or none"))
			return
		}
		ctx, seen := records.WithSeen(r.Context(), at)
		next.ServeHTTP(&readAfterWriter{ResponseWriter: w, seen: seen, from: at, cookies: len(r.Header["Cookie"]) > 0}, r.WithContext(ctx))
	})
}

// readAfterWriter adds the position to a response.
type readAfterWriter struct {
	http.ResponseWriter
	seen          *records.Seen
	from          int64
	cookies, sent bool
}

func (w *readAfterWriter) WriteHeader(status int) {
	if at := w.seen.Position(); !w.sent && status >= 200 && at > w.from {
		value := strconv.FormatInt(at, 10)
		w.Header().Set(readAfter, value)
		if w.cookies {
			http.SetCookie(w, &http.Cookie{ // #nosec G124 -- it is no secret, and is of use without TLS
				Name: readAfterCookie, Value: value, Path: "/", MaxAge: readAfterLifetime, HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
		}
	}
	w.sent = w.sent || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

func (w *readAfterWriter) Write(p []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *readAfterWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
