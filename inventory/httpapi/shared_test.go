package httpapi_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestSharedLimits: processes of one database count attempts together, and a restart forgets none. The operator sees
// entries throttled in the audit log, and the result throttled in inventory_logins_total.
func TestSharedLimits(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		processes := []*harness{g, newHarness(t, &choices{store: second, beside: g})}
		var mu sync.Mutex
		var all sync.WaitGroup
		wrong := map[int]int{}
		for i := range 30 { // at once
			all.Go(func() {
				code := processes[i%2].as("").Send("POST", "/users/login", object{"username": "viewer", "password": "wrong password"}).Code
				mu.Lock()
				defer mu.Unlock()
				wrong[code]++
			})
		}
		all.Wait()
		if wrong[401] != 10 || wrong[429] != 20 {
			t.Errorf("30 wrong passwords get %v", wrong)
		}
		restarted := newHarness(t, &choices{store: second, beside: g})
		restarted.as("").Send("POST", "/users/login", object{"username": "viewer", "password": password}).Want(429)
		g.clock.forward(time.Minute)
		restarted.as("").Send("POST", "/users/login", object{"username": "viewer", "password": password}).Want(200)
		for i := range 40 { // other names, of which each has its counters
			processes[i%2].as("").Send("POST", "/users/login", object{"username": fmt.Sprint("nobody-", i), "password": "wrong password"}).Want(401)
		}
		g.clock.forward(2 * time.Hour)
		for i := range 20 {
			processes[i%2].as("").Send("POST", "/users/login", object{"username": fmt.Sprint("nobody-", i), "password": "wrong password"}).Want(401)
		}
		attempts, _ := first.Schema().Of(&inventory.Attempts{})
		if n := g.count(attempts); n > 60 {
			t.Errorf("%d counters are left", n)
		}
	})
}
