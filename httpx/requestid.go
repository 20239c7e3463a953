package httpx

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// RequestIDOptions are the choices of [RequestID]. Nil means the defaults.
type RequestIDOptions struct {
	// New makes an id. Default: 128 random bits as 26 letters and digits.
	New func() string
}

// maxRequestID is how many bytes of an id a client may bring.
const maxRequestID = 128

type requestIDKey struct{}

// RequestID is a layer that gives each request an id: the one of its X-Request-ID
// header if that is sane, else a new one. It is sent back in X-Request-ID, shown in
// error bodies and logged. Sane is 1 to 128 letters, digits and any of "._:-": an id
// ends up in logs and in other systems' headers.
//
// A request that has an id from a RequestID further out keeps it.
func RequestID(opts *RequestIDOptions) Middleware {
	makeID := rand.Text
	if opts != nil && opts.New != nil {
		makeID = opts.New
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := RequestIDFrom(r.Context())
			if id == "" {
				if id = r.Header.Get("X-Request-Id"); !saneID(id) {
					id = makeID()
				}
				r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
			}
			w.Header().Set("X-Request-Id", id)
			next.ServeHTTP(w, r)
		})
	}
}

// RequestIDFrom is the id of the request that the context belongs to, empty if no
// [RequestID] has seen it.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

func saneID(id string) bool {
	return id != "" && len(id) <= maxRequestID && strings.IndexFunc(id, oddInID) < 0
}

func oddInID(c rune) bool {
	letterOrDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	return !letterOrDigit && !strings.ContainsRune("._:-", c)
}
