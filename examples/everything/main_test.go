package main

import (
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/server"
)

func TestRoutes(t *testing.T) {
	settings, err := server.Parse(map[string]string{"DATABASE_URL": ":memory:", "ADMIN_PASSWORD": "four words and a number"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler, network, err := routes(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	c := httpxtest.New(t, handler)
	c.Send("GET", "/books/api/books", nil).Want(200).WantHeader("RateLimit-Limit", "600")
	c.Send("GET", "/network/devices", nil).WantError(401, "No security token provided")
	c.Send("POST", "/network/users/login", `{"username":"admin","password":"four words and a number"}`).Want(200)
	c.Send("POST", "/manifests", `{"name":"x"}`).Want(200)
}
