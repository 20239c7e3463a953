package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

// Two receivers with one Redis handle a message once, and again only if handling it failed.
func TestOnce(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t, nil).Addr
	handled, failure := 0, errors.New("the disk is full")
	var hooks []*receiver
	for range 2 {
		seen, err := messages(addr)
		if err != nil {
			t.Fatal(err)
		}
		hooks = append(hooks, &receiver{key: []byte("key"), seen: seen, handle: func([]byte) error { handled++; return failure }})
	}
	send := func(h *receiver, id string, age time.Duration, signed string) int {
		at := fmt.Sprint(time.Now().Add(-age).Unix())
		return httpxtest.New(t, h.routes()).Send("POST", "/hook", "{}", "Webhook-Id", id, "Webhook-Timestamp", at, "Webhook-Signature", h.sign(id, at, signed)).Code
	}
	for i, step := range []struct {
		hook, code, handled int
		id, signed          string
		age                 time.Duration
		failure             error
	}{
		{0, http.StatusUnauthorized, 0, "a", "{ }", 0, nil},
		{0, http.StatusUnauthorized, 0, "a", "{}", 6 * time.Minute, nil},
		{0, http.StatusInternalServerError, 1, "a", "{}", 0, failure},
		{1, http.StatusOK, 2, "a", "{}", time.Minute, nil},
		{0, http.StatusOK, 2, "a", "{}", 0, nil},
		{0, http.StatusOK, 3, "b", "{}", 0, nil},
	} {
		failure = step.failure
		if code := send(hooks[step.hook], step.id, step.age, step.signed); code != step.code || handled != step.handled {
			t.Errorf("step %d: status %d and %d handled, want %d and %d", i, code, handled, step.code, step.handled)
		}
	}
}
