package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestLoginDuringGuesses checks that right passwords from other addresses are accepted
// while 20 clients guess passwords of the same user and of others as fast as they can.
func TestLoginDuringGuesses(t *testing.T) {
	t.Parallel()
	r := serveWith(t, settings(t, map[string]string{"TRUSTED_PROXIES": "127.0.0.1"}), &server.Options{}) // with expensive hashes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 20 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := "admin"
				if i%2 == 0 {
					name = fmt.Sprintf("user-%d-%d", i, n)
				}
				status, err := r.post(ctx, fmt.Sprintf("192.0.2.%d", i%4), name, "wrong password")
				if err != nil {
					return
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				if status == http.StatusTooManyRequests {
					pause(ctx, 100*time.Millisecond) // the test is about hashes, not about requests
				}
			}
		})
	}
	begin, slowest := time.Now(), time.Duration(0)
	for i := range 5 {
		sent := time.Now()
		status, err := r.post(t.Context(), fmt.Sprintf("198.51.100.%d", i), "admin", password)
		require.NoError(t, err)
		assert.Equal(t, 200, status, "login %d", i)
		slowest = max(slowest, time.Since(sent))
	}
	t.Logf("5 logins in %v, the slowest took %v", time.Since(begin), slowest)
	cancel()
	all.Wait()
	t.Logf("guesses by status: %v", statuses)
	assert.LessOrEqual(t, statuses[401], 2*4*50, "50 a minute from each of 4 addresses; the minute may end in between")
}

// post logs in from an address and returns the status.
func (r *running) post(ctx context.Context, from, name, word string) (int, error) {
	body := strings.NewReader(fmt.Sprintf(`{"username":%q,"password":%q}`, name, word))
	request, err := http.NewRequestWithContext(ctx, "POST", r.url+"/users/login", body)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Forwarded-For", from)
	response, err := r.http.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
