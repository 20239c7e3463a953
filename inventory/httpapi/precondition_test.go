package httpapi_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestPreconditions checks optimistic concurrency.
func TestPreconditions(t *testing.T) {
	each(t, func(t *testing.T, g *harness, k kind) {
		c := g.on(t, "root")
		draft := k.draft(g)
		rec := g.create(k.list, draft)
		at := path(k.list, rec)
		first := `"` + rec["id"].(string) + `.1"`
		c.Send("GET", at, nil, "If-None-Match", first).Want(304).WantHeader("ETag", first)
		c.Send("GET", at, nil, "If-None-Match", `"other", W/`+first).Want(304)
		c.Send("GET", at, nil, "If-None-Match", "*").Want(304)
		c.Send("PATCH", at, k.change, "If-Match", first).Want(200)
		c.Send("GET", at, nil, "If-None-Match", first).Want(200)
		for _, method := range []string{"PUT", "PATCH", "DELETE"} {
			body := any(draft)
			if method == "DELETE" {
				body = nil
			}
			c.Send(method, at, body, "If-Match", first).WantError(412, "The record has changed")
			c.Send(method, at, body, "If-None-Match", "*").WantError(412, "The record exists")
		}
		c.Send("PATCH", k.list, []object{with(k.change, "id", rec["id"], "if_version", 1)}).WantError(412, "changed since")
		c.Send("PATCH", k.list, []object{with(k.change, "id", rec["id"], "if_version", 2)}).Want(200)
		c.Send("DELETE", k.list, []object{{"id": rec["id"], "if_version": 1}}).WantError(412, "changed since")
		c.Send("DELETE", k.list+"?dry_run=true", []object{{"id": rec["id"], "if_version": 1}}).WantError(412, "changed since")
		c.Send("DELETE", at, nil, "If-Match", `"`+rec["id"].(string)+`.2-gzip"`).Want(200)
		again := g.create(k.list, draft)
		c.Send("DELETE", k.list, []any{object{"id": again["id"], "if_version": again["version"]}}).Want(200)
	})
}

// TestOneWins checks that one of several changes of the same version succeeds, and that all
// succeed without a precondition.
func TestOneWins(t *testing.T) { stores(t, scaletest.Unraced, oneWins) }

func oneWins(t *testing.T, g *harness) {
	t.Helper()
	d := g.create("/devices", device("core-1"))
	at, tag := path("/devices", d), `"`+d["id"].(string)+`.1"`
	c := g.as("root")
	var won, lost atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			switch a := c.Send("PATCH", at, object{"role": string(rune('a' + i))}, "If-Match", tag); a.Code {
			case 200:
				won.Add(1)
			case 412:
				lost.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || lost.Load() != 19 {
		t.Errorf("%d won and %d lost", won.Load(), lost.Load())
	}
	for i := range 20 {
		all.Go(func() { c.Send("PATCH", at, object{"os_version": string(rune('a' + i))}) })
	}
	all.Wait()
	if rec := read(t, c.Send("GET", at, nil)); rec["version"] != 22.0 {
		t.Errorf("after 21 changes the version is %v", rec["version"])
	}
}
