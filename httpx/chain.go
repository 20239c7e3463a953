package httpx

import "net/http"

// Middleware is one layer around a handler. It is an alias, so that a layer is a
// bare function that any router takes.
type Middleware = func(http.Handler) http.Handler

// Chain makes one layer of several. The first is the outermost: it sees a request
// first and its answer last. A nil layer is left out, so that what is optional can
// be written in its place.
func Chain(layers ...Middleware) Middleware {
	return func(h http.Handler) http.Handler {
		for i := len(layers) - 1; i >= 0; i-- {
			if layers[i] != nil {
				h = layers[i](h)
			}
		}
		return h
	}
}
