package main

import (
	"crypto/sha256"
	"net/http"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

func TestTiers(t *testing.T) {
	t.Parallel()
	h, err := routes(accounts{
		sha256.Sum256([]byte("k1")): {"ann", "free"}, sha256.Sum256([]byte("k2")): {"eve", "free"},
		sha256.Sum256([]byte("k3")): {"bob", "pro"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := httpxtest.New(t, h)
	c.Send("GET", "/", nil).WantError(http.StatusUnauthorized, "")
	c.Send("GET", "/", nil, "X-Api-Key", "k4").WantError(http.StatusUnauthorized, "")

	allowed, denied := 0, 0
	for range 11 { // the window may end in between
		switch w := c.Send("GET", "/", nil, "X-Api-Key", "k1"); w.Code {
		case http.StatusOK:
			allowed++
		case http.StatusTooManyRequests:
			denied++
			if w.Header().Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		}
	}
	if allowed < 5 || denied == 0 {
		t.Errorf("11 requests: %d allowed, %d denied; want at least 5 allowed and 1 denied", allowed, denied)
	}
	c.Send("GET", "/", nil, "X-Api-Key", "k2").Want(http.StatusOK).WantHeader("RateLimit-Limit", "5")
	c.Send("GET", "/", nil, "X-Api-Key", "k3").Want(http.StatusOK).WantHeader("RateLimit-Limit", "600")
}
