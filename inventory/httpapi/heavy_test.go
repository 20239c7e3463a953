package httpapi_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// endless is a store whose searches run until their context ends.
type endless struct {
	records.Store
	running atomic.Int32
}

func (s *endless) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if q.Text == "" {
		return s.Store.List(ctx, q)
	}
	s.running.Add(1)
	defer s.running.Add(-1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestHeavyQueries checks that a caller runs two heavy queries at once for 5 s at most, that 32
// wait, and that other requests and other callers are served meanwhile.
func TestHeavyQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &endless{Store: records.NewMemStore(inventory.Schema())}
		g := newHarness(t, &choices{store: store})
		var mu sync.Mutex
		statuses := map[int]int{}
		var all sync.WaitGroup
		search := func(user string) {
			all.Go(func() {
				a := g.on(t, user).Send("GET", "/devices?q=x", nil)
				if a.Header().Get("Retry-After") == "" {
					t.Errorf("status %d without Retry-After: %s", a.Code, a.Body)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[a.Code]++
			})
		}
		for range 60 {
			search("viewer")
		}
		synctest.Wait()
		if n := store.running.Load(); n != 2 || statuses[429] != 60-2-32 {
			t.Errorf("%d queries run, statuses %v", n, statuses)
		}
		g.as("viewer").Send("GET", "/devices", nil).Want(200)
		search("editor")
		synctest.Wait()
		if n := store.running.Load(); n != 3 {
			t.Errorf("%d queries run with another caller, want 3", n)
		}
		start := time.Now()
		all.Wait()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the last response came after %v, want 5s", took)
		}
		// Queries that wait may get the place of one that ends in the same instant.
		if n := statuses[http.StatusServiceUnavailable]; n < 3 || n+statuses[http.StatusTooManyRequests] != 61 {
			t.Errorf("statuses %v, want 503 for those that ran and 429 for the others, 61 in all", statuses)
		}
	})
}
