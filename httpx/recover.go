package httpx

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// Recover is a layer that answers a panic with a 500 and logs it with its stack. A nil
// log is slog.Default. If the answer has begun, the connection is cut, so that
// the client does not take half an answer for a whole one. http.ErrAbortHandler is
// passed on, since that is what it is for.
func Recover(log *slog.Logger) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			own := watch(w)
			defer func() {
				if value := recover(); value != nil {
					recovered(own, r, log, value)
				}
			}()
			next.ServeHTTP(own, r)
		})
	}
}

func recovered(w *writer, r *http.Request, log *slog.Logger, value any) {
	if value == http.ErrAbortHandler {
		panic(value)
	}
	if log == nil {
		log = slog.Default()
	}
	log.ErrorContext(r.Context(), "panic", "value", fmt.Sprint(value), "method", r.Method,
		"path", loggedPath(r), "request_id", RequestIDFrom(r.Context()), "stack", string(debug.Stack()))
	sent := w.status != 0
	WriteError(w, r, fmt.Errorf("panic: %v", value))
	if sent {
		panic(http.ErrAbortHandler)
	}
}
