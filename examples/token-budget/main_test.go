package main

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

// An answer costs what it took, not what was reserved; one that took more is paid later.
func TestBudget(t *testing.T) {
	t.Parallel()
	if rest := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); rest < 5*time.Second {
		time.Sleep(rest) // so that the window does not end in between
	}
	length := 10
	h, err := gateway(func(string) []string { return slices.Repeat([]string{"word"}, length) })
	if err != nil {
		t.Fatal(err)
	}
	c := httpxtest.New(t, h)
	ask := func(customer string) *httpxtest.Response {
		return c.Send("POST", "/answers", "why", "X-Customer", customer)
	}
	ask("ann").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "699")
	ask("ann").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "688") // 11 were used
	length = 2500
	ask("ann").Want(http.StatusOK)
	if retry := ask("ann").Want(http.StatusTooManyRequests).Header().Get("Retry-After"); retry == "" {
		t.Error("429 without Retry-After")
	}
	length = 10
	ask("bob").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "699")
}
