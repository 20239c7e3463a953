package main

import (
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

// netHTTP mounts the systems in an http.ServeMux.
func netHTTP(systems []system, limit func(http.Handler) http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, s := range systems {
		mux.Handle(s.prefix+"/", http.StripPrefix(s.prefix, s.handler))
	}
	return limit(httpx.Mux(mux)) // other paths get a 404 in JSON
}
