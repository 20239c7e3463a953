package httpx

import (
	"net/http"
	"time"
)

// writer watches an answer go by. The layers next to each other share one.
type writer struct {
	http.ResponseWriter
	start  time.Time // zero unless ResponseTime asked for it
	status int       // 0 until the final header is on its way
	bytes  int64     // of the body
	err    error     // what WriteError was given
}

// watch is the writer that w is already, or a new one around it.
func watch(w http.ResponseWriter) *writer {
	if own, ok := w.(*writer); ok {
		return own
	}
	return &writer{ResponseWriter: w}
}

// WriteHeader notes the status, unless it only announces another.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
		w.stamp()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts, and sends the header if that has not been done.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// FlushError sends what is there, for http.ResponseController.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is for those who ask for an http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// Unwrap leads http.ResponseController to what lies below.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// stamp sets X-Response-Time, if that is wanted and not too late.
func (w *writer) stamp() {
	if !w.start.IsZero() {
		w.Header().Set("X-Response-Time", time.Since(w.start).String())
	}
}

// finished is the status of an answer whose handler has returned: one that wrote
// nothing has answered 200.
func (w *writer) finished() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// note tells the writers around an answer what went wrong. It reports whether one
// of them has sent the header already.
func note(w http.ResponseWriter, err error) (sent bool) {
	for {
		if own, ok := w.(*writer); ok {
			own.err = err
			sent = sent || own.status != 0
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return sent
		}
		w = outer.Unwrap()
	}
}
