package httpx

import (
	"net/http"
	"time"
)

// ResponseTime is a layer that puts X-Response-Time on every answer: how long it
// took until the header was sent, as time.Duration writes it. Outermost, it is on
// whatever any other layer answers.
func ResponseTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := watch(w)
		own.start = time.Now()
		next.ServeHTTP(own, r)
		if own.status == 0 {
			own.stamp() // net/http sends the header now
		}
	})
}
