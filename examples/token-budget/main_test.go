package main

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

// An answer costs what it took, not what was reserved; one that took more is paid later. With Redis, two processes share a budget.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, redis := range []string{"", redistest.Start(t, nil).Addr} {
		if rest := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); rest < 5*time.Second {
			time.Sleep(rest) // so that the window does not end in between
		}
		length := 10
		process := func() *httpxtest.Client {
			h, err := gateway(redis, func(string) []string { return slices.Repeat([]string{"word"}, length) })
			if err != nil {
				t.Fatal(err)
			}
			return httpxtest.New(t, h)
		}
		c := process()
		other := c
		if redis != "" {
			other = process()
		}
		ask := func(c *httpxtest.Client, customer string) *httpxtest.Response {
			return c.Send("POST", "/answers", "why", "X-Customer", customer)
		}
		ask(c, "ann").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "699")
		ask(other, "ann").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "688") // 11 were used
		length = 2500
		ask(c, "ann").Want(http.StatusOK)
		if retry := ask(other, "ann").Want(http.StatusTooManyRequests).Header().Get("Retry-After"); retry == "" {
			t.Error("429 without Retry-After")
		}
		length = 10
		ask(c, "bob").Want(http.StatusOK).WantHeader("RateLimit-Remaining", "699")
	}
}
