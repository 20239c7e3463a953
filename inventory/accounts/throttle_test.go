package accounts_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestRightPasswordAtAnyRate: while hundreds of networks guess a password as fast as they can, its user
// logs in without delay from where they have logged in before, and a second later from a new network.
func TestRightPasswordAtAnyRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, engine := context.Background(), records.New(records.NewMemStore(inventory.Schema()), nil)
		hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}, Concurrent: 1, Waiting: 64})
		require.NoError(t, err)
		_, password, err := accounts.FirstAdmin(ctx, engine, hasher, "admin", "")
		require.NoError(t, err)
		service, err := accounts.New(engine, hasher, nil)
		require.NoError(t, err)
		login := func(network, password string) (time.Duration, error) {
			start := time.Now()
			_, err := service.Login(ctx, &accounts.Request{Network: network}, "admin", password)
			return time.Since(start), err
		}
		_, err = login("192.0.2.1", password)
		require.NoError(t, err)

		var flood sync.WaitGroup
		begun := make(chan struct{}, 300)
		for i := range cap(begun) {
			flood.Go(func() {
				begun <- struct{}{}
				for range 3 {
					_, err := login(fmt.Sprintf("198.51.%d.%d", i/250, i%250), "wrong password")
					require.Error(t, err)
				}
			})
		}
		for range 150 {
			<-begun
		}
		for range 10 {
			took, err := login("192.0.2.1", password)
			require.NoError(t, err)
			require.Zero(t, took)
		}
		flood.Wait()
		took, err := login("203.0.113.1", password)
		require.NoError(t, err)
		require.LessOrEqual(t, took, time.Second)
	})
}

// TestGuessesPerHour: what REFERENCE.md, 3.5, says that guesses from some networks achieve.
func TestGuessesPerHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	engine := records.New(records.NewMemStore(inventory.Schema()), &records.Options{Now: func() time.Time { return now }})
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}})
	require.NoError(t, err)
	service, err := accounts.New(engine, hasher, nil)
	require.NoError(t, err)
	one, all := 0, 0
	for range 60 {
		for _, network := range []string{"192.0.2.1", "192.0.2.2"} {
			for i := range 100 {
				name := "admin"
				if i >= 20 {
					name = fmt.Sprint("user-", i/8)
				}
				_, err := service.Login(t.Context(), &accounts.Request{Network: network}, name, "wrong password")
				if records.KindOf(err) != records.Unauthenticated {
					continue
				}
				all++
				if name == "admin" {
					one++
				}
			}
		}
		now = now.Add(time.Minute)
	}
	require.Equal(t, 2*600, one)
	require.Equal(t, 2*3000, all)
}
