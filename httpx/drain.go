package httpx

import (
	"io"
	"net/http"
	"time"
)

// The bounds of what DrainBody discards.
const (
	maxDrained = 8 << 20
	drainTime  = 2 * time.Second
)

// DrainBody is middleware that reads the rest of a body that was refused, at most 8 MiB and 2 s,
// after the response was sent. Otherwise the connection would be closed with unread data, and the
// system of a client that still sends would discard the response. It does so after responses with a
// status from 400 over HTTP/1, unless the client still waits for 100 Continue.
//
// The rest is discarded, so it takes no memory.
func DrainBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body
		if body == nil || r.ContentLength == 0 || r.ProtoMajor != 1 {
			next.ServeHTTP(w, r)
			return
		}
		began := true // the client sends its body
		if r.Header.Get("Expect") != "" {
			began = false
			r = withBody(r, &expectedBody{body, &began})
		}
		own := wrap(w)
		next.ServeHTTP(own, r)
		if own.status < http.StatusBadRequest {
			return
		}
		control := http.NewResponseController(own)
		if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(drainTime)) != nil {
			return // not a connection of net/http
		}
		if began { // else net/http waits for a body until the deadline, and closes the connection
			_, _ = io.CopyN(io.Discard, body, maxDrained) // ignore the error: the client disconnected
		}
	})
}

// withBody returns a copy of a request with another body. The request of net/http keeps its own:
// by the type of that, net/http sees that a client waits for 100 Continue, and does not read.
func withBody(r *http.Request, body io.ReadCloser) *http.Request {
	own := r.WithContext(r.Context())
	own.Body = body
	return own
}

// expectedBody is a body that the client sends when it is read.
type expectedBody struct {
	io.ReadCloser
	began *bool
}

func (b *expectedBody) Read(p []byte) (int, error) {
	*b.began = true
	return b.ReadCloser.Read(p)
}
