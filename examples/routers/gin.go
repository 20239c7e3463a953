package main

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/ashlar-go/ashlar/httpx"
)

// inGin mounts the systems in a gin engine.
func inGin(systems []system, limit func(http.Handler) http.Handler) http.Handler {
	engine := gin.New()
	engine.UseEscapedPath = true // like net/http and chi: %2F does not separate a prefix
	engine.Use(ginMiddleware(limit))
	engine.NoRoute(gin.WrapF(httpx.NotFound))
	for _, s := range systems {
		engine.Any(s.prefix+"/*path", gin.WrapH(http.StripPrefix(s.prefix, s.handler)))
	}
	return engine
}

// ginMiddleware returns the middleware for gin. The next handler must get the http.ResponseWriter of the
// middleware's caller, as it does with those of httplimit. Others belong around the engine, which is an
// http.Handler.
func ginMiddleware(middleware func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		passed := false
		middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed = true
			c.Request = r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
		if !passed {
			c.Abort()
		}
	}
}
