package main

import (
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	c := httpxtest.New(t, routes())
	if got := c.Send("GET", "/", nil).Want(200).Body.String(); got != "the shop is open\n" {
		t.Errorf("GET /: %q", got)
	}
	made := c.Send("POST", "/shop/api/books", `{"title":"Emma"}`).Want(201)
	c.Send("GET", made.Header().Get("Location"), nil).Want(200)
	c.Send("GET", "/shop/nowhere", nil).WantError(404, "No such path")
}
