package httpx

import (
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// GzipOptions configures [Gzip]. Nil means the defaults.
type GzipOptions struct {
	// MinSize is the size in bytes from which responses are compressed; smaller ones gain
	// little. Default: 1024.
	MinSize int
	// Level of compress/gzip. Default: 5.
	Level int
}

// Gzip is middleware that compresses responses for clients that accept it, by the q-values of
// Accept-Encoding. It compresses text, JSON, YAML, XML and JavaScript of at least MinSize bytes, and
// responses that are flushed earlier. Every response with a compressible body has Vary:
// Accept-Encoding.
//
// It does not compress responses with a Content-Encoding or a Content-Range, responses to HEAD,
// and 1xx, 204, 206 and 304. A strong ETag of a compressed response gets the suffix "-gzip",
// because its bytes differ (RFC 9110, section 8.8.3); [IfMatch] and [NotModified] accept it.
//
// It panics if the level is invalid.
func Gzip(opts *GzipOptions) Middleware {
	o := *cmp.Or(opts, &GzipOptions{})
	o.MinSize, o.Level = cmp.Or(max(0, o.MinSize), 1024), cmp.Or(o.Level, 5)
	if _, err := gzip.NewWriterLevel(nil, o.Level); err != nil {
		panic("httpx: GzipOptions.Level: " + err.Error())
	}
	pool := &sync.Pool{New: func() any {
		zip, _ := gzip.NewWriterLevel(nil, o.Level) // checked above
		return zip
	}}
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		z := &gzipWriter{ResponseWriter: w, min: o.MinSize}
		if AcceptsGzip(r) { // else caches must learn that other clients get other bytes
			z.pool = pool
		}
		next.ServeHTTP(z, r)
		// Not deferred: after a panic an incomplete response must not look complete.
		z.finish()
	})
}

// AcceptsGzip reports whether [Gzip] would compress the response to a request, for handlers with
// precompressed responses. It is false for HEAD.
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

// compressible reports whether a response may be compressed.
func compressible(status int, h http.Header) bool {
	if !hasBody(status) || status == http.StatusPartialContent || h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" {
		return false
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch kind {
	case "application/json", "application/x-ndjson", "application/yaml", "application/xml", "application/javascript":
		return true
	}
	isText := strings.HasPrefix(kind, "text/") && kind != "text/event-stream"
	return isText || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// sniff sets Content-Type if the handler has not. net/http would sniff the compressed bytes.
func sniff(h http.Header, p []byte) {
	if _, set := h["Content-Type"]; !set && len(p) > 0 {
		h.Set("Content-Type", http.DetectContentType(p))
	}
}

// gzipWriter buffers a response until it decides whether to compress it. Without a pool it
// neither buffers nor compresses, and sets Vary only.
type gzipWriter struct {
	http.ResponseWriter
	pool *sync.Pool
	min  int

	status  int          // set by the handler, or 0
	buffer  []byte       // the body until the decision
	decided bool         // the header is sent
	zip     *gzip.Writer // nil if the body is not compressed
	out     io.Writer    // after the decision, zip or the ResponseWriter
}

// WriteHeader stores the status until the size is known.
func (z *gzipWriter) WriteHeader(status int) {
	switch {
	case z.status != 0:
		return
	case status < 200 && status != http.StatusSwitchingProtocols:
		z.ResponseWriter.WriteHeader(status) // informational: the final header follows
	default:
		z.status = status
		if large, known := z.declaredSize(); known {
			z.decide(large)
		}
	}
}

// declaredSize reports whether the header says that the body reaches the minimum size.
func (z *gzipWriter) declaredSize() (large, known bool) {
	if !hasBody(z.status) {
		return false, true
	}
	h := z.Header()
	if h.Get("Content-Type") == "" {
		return false, false // decide after sniffing
	}
	n, err := strconv.Atoi(h.Get("Content-Length"))
	return n >= z.min, err == nil || z.pool == nil
}

// Write buffers up to the minimum size.
func (z *gzipWriter) Write(p []byte) (int, error) {
	if z.status == 0 {
		z.WriteHeader(http.StatusOK)
	}
	if !z.decided {
		if z.pool != nil && len(z.buffer)+len(p) < z.min {
			z.buffer = append(z.buffer, p...)
			return len(p), nil
		}
		if err := z.release(p, true); err != nil {
			return 0, err
		}
	}
	return z.out.Write(p)
}

// release decides and sends the buffer. next is written after it.
func (z *gzipWriter) release(next []byte, large bool) error {
	buffer := z.buffer
	z.buffer = nil
	if len(buffer) == 0 {
		sniff(z.Header(), next)
		z.decide(large)
		return nil
	}
	sniff(z.Header(), buffer)
	z.decide(large)
	_, err := z.out.Write(buffer)
	return err
}

// decide sends the header and starts compression if large is true.
func (z *gzipWriter) decide(large bool) {
	z.decided, z.out = true, z.ResponseWriter
	h := z.Header()
	may := compressible(z.status, h)
	if may || z.status == http.StatusNotModified {
		vary(h, "Accept-Encoding")
	}
	if may && large && z.pool != nil {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		if tag := h.Get("Etag"); len(tag) >= 2 && !strings.HasPrefix(tag, "W/") && !strings.HasSuffix(tag, gzipSuffix) { // a weak tag covers both forms
			h.Set("Etag", tag[:len(tag)-1]+gzipSuffix)
		}
		z.zip = z.pool.Get().(*gzip.Writer)
		z.zip.Reset(z.ResponseWriter)
		z.out = z.zip
	}
	z.ResponseWriter.WriteHeader(z.status)
}

// finish completes the response of a handler that has returned. net/http completes a response
// without writes.
func (z *gzipWriter) finish() {
	if z.status == 0 {
		return
	}
	if !z.decided {
		_ = z.release(nil, false) // ignore the error: the client disconnected
	}
	if z.zip != nil {
		_ = z.zip.Close()
		z.zip.Reset(nil)
		z.pool.Put(z.zip)
		z.zip = nil
	}
}

// FlushError sends what was written. The response is a stream of unknown size, so it is
// compressed if possible.
func (z *gzipWriter) FlushError() error {
	if z.status == 0 {
		z.WriteHeader(http.StatusOK)
	}
	if !z.decided {
		if err := z.release(nil, true); err != nil {
			return err
		}
	}
	if z.zip != nil {
		if err := z.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(z.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (z *gzipWriter) Flush() { _ = z.FlushError() }

// Unwrap returns the wrapped writer, for http.ResponseController.
func (z *gzipWriter) Unwrap() http.ResponseWriter { return z.ResponseWriter }

const gzipSuffix = `-gzip"`

// plainTag returns the tag of the uncompressed form.
func plainTag(tag string) string {
	if plain, ok := strings.CutSuffix(tag, gzipSuffix); ok {
		return plain + `"`
	}
	return tag
}
