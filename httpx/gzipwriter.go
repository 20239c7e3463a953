package httpx

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// gzipWriter holds an answer back until it is known whether to compress it.
type gzipWriter struct {
	http.ResponseWriter
	pool *sync.Pool
	min  int

	status  int          // what the handler said; 0 until then
	held    []byte       // the body so far, while undecided
	decided bool         // the header is on its way
	zip     *gzip.Writer // not nil if the body is compressed
}

// WriteHeader keeps the status until the size is known.
func (z *gzipWriter) WriteHeader(status int) {
	switch {
	case z.status != 0:
		return
	case status < 200 && status != http.StatusSwitchingProtocols:
		z.ResponseWriter.WriteHeader(status) // an announcement: the answer is yet to come
	default:
		z.status = status
		if large, known := z.announced(); known {
			z.decide(large)
		}
	}
}

// announced tells from the header whether the body is large, where it can be told.
func (z *gzipWriter) announced() (large, known bool) {
	if !hasBody(z.status) {
		return false, true
	}
	h := z.Header()
	if h.Get("Content-Type") == "" {
		return false, false // to be sniffed
	}
	n, err := strconv.Atoi(h.Get("Content-Length"))
	return n >= z.min, err == nil
}

// Write holds back the first bytes, up to the least size.
func (z *gzipWriter) Write(p []byte) (int, error) {
	if z.status == 0 {
		z.WriteHeader(http.StatusOK)
	}
	if !z.decided {
		if len(z.held)+len(p) < z.min {
			z.held = append(z.held, p...)
			return len(p), nil
		}
		if err := z.release(p, true); err != nil {
			return 0, err
		}
	}
	if z.zip != nil {
		return z.zip.Write(p)
	}
	return z.ResponseWriter.Write(p)
}

// release decides and sends what was held back. next is what will be written after it.
func (z *gzipWriter) release(next []byte, large bool) error {
	held := z.held
	z.held = nil
	if len(held) > 0 {
		sniff(z.Header(), held)
	} else {
		sniff(z.Header(), next)
	}
	z.decide(large)
	if len(held) == 0 {
		return nil
	}
	var err error
	if z.zip != nil {
		_, err = z.zip.Write(held)
	} else {
		_, err = z.ResponseWriter.Write(held)
	}
	return err
}

// decide sends the header, and from there on the body is compressed or not.
func (z *gzipWriter) decide(large bool) {
	z.decided = true
	h := z.Header()
	may := compressible(z.status, h)
	if may || z.status == http.StatusNotModified {
		vary(h, "Accept-Encoding")
	}
	if may && large {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		if tag := h.Get("Etag"); tag != "" {
			h.Set("Etag", gzipTag(tag))
		}
		z.zip = z.pool.Get().(*gzip.Writer)
		z.zip.Reset(z.ResponseWriter)
	}
	z.ResponseWriter.WriteHeader(z.status)
}

// finish ends the answer of a handler that has returned. One that wrote nothing is
// left to net/http.
func (z *gzipWriter) finish() {
	if z.status == 0 {
		return
	}
	if !z.decided {
		_ = z.release(nil, false) // a client that does not listen is its own loss
	}
	if z.zip != nil {
		_ = z.zip.Close()
		z.zip.Reset(nil)
		z.pool.Put(z.zip)
		z.zip = nil
	}
}

// FlushError sends all that was written, compressed if it may be: what flushes is
// a stream, and nobody knows how long it will be.
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

// Flush is for those who ask for an http.Flusher.
func (z *gzipWriter) Flush() { _ = z.FlushError() }

// Unwrap leads http.ResponseController to what lies below.
func (z *gzipWriter) Unwrap() http.ResponseWriter { return z.ResponseWriter }

const gzipSuffix = `-gzip"`

// gzipTag is the entity tag of the compressed form. A weak one stands for both.
func gzipTag(tag string) string {
	if strings.HasPrefix(tag, "W/") || len(tag) < 2 || strings.HasSuffix(tag, gzipSuffix) {
		return tag
	}
	return tag[:len(tag)-1] + gzipSuffix
}

// plainTag is the tag of the form that is not compressed.
func plainTag(tag string) string {
	if plain, ok := strings.CutSuffix(tag, gzipSuffix); ok {
		return plain + `"`
	}
	return tag
}
