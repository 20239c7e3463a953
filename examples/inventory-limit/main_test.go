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
	made, refused := 0, 0
	for range 11 { // a minute may turn in between
		switch c.Send("POST", "/vlans", `{"vlan_id":7,"name":"voice"}`, "X-User", "ann").Code {
		case 201:
			made++
		case 429:
			refused++
		}
	}
	if made < 5 || refused == 0 {
		t.Errorf("of 11 changes %d were made and %d refused", made, refused)
	}
	c.Send("GET", "/devices", nil, "X-User", "bob").Want(200)
}
