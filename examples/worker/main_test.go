package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

// Two processes that share a limit send no more than 20 requests a second together.
func TestWorkers(t *testing.T) {
	var mu sync.Mutex
	var came []time.Time
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		came = append(came, time.Now())
	}))
	defer api.Close()
	addr := redistest.Start(t, nil).Addr
	var all sync.WaitGroup
	for range 2 {
		c, closeStore, err := client(addr)
		require.NoError(t, err)
		all.Go(func() {
			if done := work(t.Context(), c, api.URL, 3, 5); done != 15 {
				t.Errorf("%d of 15 calls succeeded", done)
			}
			_ = closeStore()
			c.CloseIdleConnections()
		})
	}
	all.Wait()
	slices.SortFunc(came, time.Time.Compare)
	require.Greater(t, came[29].Sub(came[0]), time.Second, "30 requests at 20 a second take 1.45 s, if none is late")
}
