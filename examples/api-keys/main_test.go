package main

import (
	"crypto/sha256"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

func TestTiers(t *testing.T) {
	t.Parallel()
	h, err := routes(accounts{
		sha256.Sum256([]byte("k1")): {"ann", "free"}, sha256.Sum256([]byte("k2")): {"eve", "free"},
		sha256.Sum256([]byte("k3")): {"bob", "pro"},
	}, "")
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

// Processes with one Redis count together. When it has gone, each has the limit for itself.
func TestProcessesWithRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	var processes []*httpxtest.Client
	for range 2 {
		h, err := routes(accounts{sha256.Sum256([]byte("k3")): {"bob", "pro"}}, server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		processes = append(processes, httpxtest.New(t, h))
	}
	if rest := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); rest < 5*time.Second {
		time.Sleep(rest) // so that the window does not end in between
	}
	for _, left := range []string{"599", "598"} {
		processes[0].Send("GET", "/", nil, "X-Api-Key", "k3").Want(http.StatusOK).WantHeader("RateLimit-Remaining", left)
	}
	processes[1].Send("GET", "/", nil, "X-Api-Key", "k3").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "597")
	server.Stop(os.Interrupt)
	processes[1].Send("GET", "/", nil, "X-Api-Key", "k3").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "599")
}
