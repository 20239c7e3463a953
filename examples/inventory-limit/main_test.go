package main

import (
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	h, err := handler()
	if err != nil {
		t.Fatal(err)
	}
	c := httpxtest.New(t, h)
	c.Send("GET", "/devices", nil, "X-User", "ann").Want(200).WantHeader("X-RateLimit-Limit", "60")
	created, denied := 0, 0
	for range 11 { // the window may end in between
		switch c.Send("POST", "/vlans", `{"vlan_id":7,"name":"voice"}`, "X-User", "ann").Code {
		case 201:
			created++
		case 429:
			denied++
		}
	}
	if created < 5 || denied == 0 {
		t.Errorf("11 requests: %d created, %d denied; want at least 5 created and 1 denied", created, denied)
	}
	c.Send("GET", "/devices", nil, "X-User", "bob").Want(200)
}
