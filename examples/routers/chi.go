package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/ashlar-go/ashlar/httpx"
)

// inChi mounts the systems in a chi router.
func inChi(systems []system, limit func(http.Handler) http.Handler) http.Handler {
	router := chi.NewRouter()
	router.Use(limit)
	router.NotFound(httpx.NotFound)
	router.MethodNotAllowed(httpx.MethodNotAllowed) // methods that chi does not know
	for _, s := range systems {
		router.Handle(s.prefix+"/*", http.StripPrefix(s.prefix, s.handler))
		// Without this, chi has no such path. Do not use Mount, which passes it to the handler as "".
		router.Handle(s.prefix, http.RedirectHandler(s.prefix+"/", http.StatusTemporaryRedirect))
	}
	return router
}
