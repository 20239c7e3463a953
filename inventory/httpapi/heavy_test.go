package httpapi_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/inventory/httpapi"
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
		store := &endless{Store: records.NewMemStore(builtIn)}
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
		// Queries that wait may get the slot of one that ends in the same instant.
		if n := statuses[http.StatusServiceUnavailable]; n < 3 || n+statuses[http.StatusTooManyRequests] != 61 {
			t.Errorf("statuses %v, want 503 for those that ran and 429 for the others, 61 in all", statuses)
		}
	})
}

// pool is a store with a number of connections that read.
type pool struct {
	endless
	connections chan struct{}
	cheap       atomic.Int32 // reads that have ended
}

func (s *pool) MaxReads() int { return cap(s.connections) }

func (s *pool) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	select {
	case s.connections <- struct{}{}:
		defer func() { <-s.connections }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if q.Text == "" {
		s.cheap.Add(1)
	}
	return s.endless.List(ctx, q)
}

// TestHeavyQueriesLeaveConnections checks that 60 heavy queries of many callers leave a
// connection for others, even if the options allow more of them than the store has connections.
func TestHeavyQueriesLeaveConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &pool{endless: endless{Store: records.NewMemStore(builtIn)}, connections: make(chan struct{}, 4)}
		g := newHarness(t, &choices{store: store, options: func(o *httpapi.Options) {
			o.Heavy = httpapi.HeavyOptions{Total: 100, PerCaller: 50}
		}})
		store.cheap.Store(0)
		var all sync.WaitGroup
		for i := range 60 {
			user := []string{"viewer", "editor", "root", "second"}[i%4]
			all.Go(func() { g.on(t, user).Send("GET", "/devices?q=x", nil) })
		}
		synctest.Wait()
		if n := store.running.Load(); n != 3 {
			t.Errorf("%d heavy queries run, want 3 of 4 connections", n)
		}
		begin := time.Now()
		for range 100 {
			g.as("viewer").Send("GET", "/devices", nil).Want(200)
		}
		if n := store.cheap.Load(); n != 100 || time.Since(begin) != 0 {
			t.Errorf("%d cheap requests in %v, want 100 without waiting", n, time.Since(begin))
		}
		all.Wait()
	})
}
