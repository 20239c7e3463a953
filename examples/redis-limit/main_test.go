package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

// Two processes with one Redis count together; without it each has counters of its own.
func TestProcessesCountTogether(t *testing.T) {
	for redis, left := range map[string]string{redistest.Start(t, nil).Addr: "18", "": "19"} {
		var got string
		for range 2 {
			handler, err := limited(redis)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			got = w.Header().Get("RateLimit-Remaining")
		}
		if got != left {
			t.Errorf("Redis at %q: the second process has %s requests left, want %s", redis, got, left)
		}
	}
}
