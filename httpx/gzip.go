package httpx

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// GzipOptions are the choices of [Gzip]. Nil means the defaults.
type GzipOptions struct {
	// MinSize is how many bytes an answer must have. Below about 1 KiB there is little
	// to gain. Default, when 0: 1024.
	MinSize int
	// Level is that of compress/gzip. Default, when 0: 5.
	Level int
}

// Gzip is a layer that compresses answers for clients that accept it, by the q-values
// of Accept-Encoding. It compresses text, JSON, XML and JavaScript of at least MinSize
// bytes, and what is flushed before that many are written. Vary: Accept-Encoding
// is on every answer with a body that it could have compressed.
//
// It leaves alone: answers that have a Content-Encoding or a Content-Range, HEAD
// requests, and 1xx, 204, 206 and 304. A strong ETag of a compressed answer gets
// the suffix "-gzip", as its bytes are others (RFC 9110, 8.8.3); [IfMatch] and
// [NotModified] know it.
//
// It panics if the level is none of compress/gzip's.
func Gzip(opts *GzipOptions) Middleware {
	o := GzipOptions{MinSize: 1024, Level: 5}
	if opts != nil && opts.MinSize > 0 {
		o.MinSize = opts.MinSize
	}
	if opts != nil && opts.Level != 0 {
		o.Level = opts.Level
	}
	if _, err := gzip.NewWriterLevel(nil, o.Level); err != nil {
		panic("httpx: GzipOptions.Level: " + err.Error())
	}
	pool := &sync.Pool{New: func() any {
		zip, _ := gzip.NewWriterLevel(nil, o.Level) // checked above
		return zip
	}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !AcceptsGzip(r) {
				// What caches must know, the writer below says only where it applies.
				next.ServeHTTP(&varying{ResponseWriter: w}, r)
				return
			}
			z := &gzipWriter{ResponseWriter: w, pool: pool, min: o.MinSize}
			next.ServeHTTP(z, r)
			// Not deferred: after a panic half an answer must not be made to look whole.
			z.finish()
		})
	}
}

// AcceptsGzip reports whether a request is one that [Gzip] would compress the answer to: for
// handlers that have theirs compressed already. It is false for HEAD.
func AcceptsGzip(r *http.Request) bool {
	if r.Method == http.MethodHead {
		return false
	}
	lines := r.Header["Accept-Encoding"]
	q, named := quality(lines, "gzip")
	if !named {
		q, named = quality(lines, "*")
	}
	identity, preferred := quality(lines, "identity")
	return named && q > 0 && (!preferred || q >= identity)
}

// compressible reports whether an answer may be compressed at all.
func compressible(status int, h http.Header) bool {
	if !hasBody(status) || status == http.StatusPartialContent || h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" {
		return false
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		return kind != "text/event-stream"
	}
	return kind == "application/json" || kind == "application/xml" || kind == "application/javascript"
}

func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// varying is for clients without gzip: it tells caches that others get other bytes.
type varying struct {
	http.ResponseWriter
	done bool
}

// WriteHeader adds Vary where the answer could have been compressed.
func (v *varying) WriteHeader(status int) {
	if !v.done && status >= 200 {
		v.done = true
		if status == http.StatusNotModified || compressible(status, v.Header()) {
			vary(v.Header(), "Accept-Encoding")
		}
	}
	v.ResponseWriter.WriteHeader(status)
}

// Write sends the header first, if that has not been done.
func (v *varying) Write(p []byte) (int, error) {
	if !v.done {
		sniff(v.Header(), p)
		v.WriteHeader(http.StatusOK)
	}
	return v.ResponseWriter.Write(p)
}

// Flush passes on what is there.
func (v *varying) Flush() { _ = v.FlushError() }

// FlushError is Flush for http.ResponseController.
func (v *varying) FlushError() error {
	if !v.done {
		v.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(v.ResponseWriter).Flush()
}

// Unwrap leads http.ResponseController to what lies below.
func (v *varying) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// sniff names the type where the handler has not, as net/http would, which sees only
// what this layer makes of the body.
func sniff(h http.Header, p []byte) {
	if _, set := h["Content-Type"]; !set && len(p) > 0 {
		h.Set("Content-Type", http.DetectContentType(p))
	}
}
