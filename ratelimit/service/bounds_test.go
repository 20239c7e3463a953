package service_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// A store that hangs keeps a call for Options.Timeout, whatever the policy. The caller's own deadline has its own status.
func TestTimeout(t *testing.T) {
	hangs := storeFunc(func(ctx context.Context, _ []ratelimit.Hit) error {
		<-ctx.Done()
		return ctx.Err()
	})
	svc := service.New(newEngine(t, hangs, nil), &service.Options{Timeout: time.Millisecond})
	for _, s := range setups() {
		_, err := s.start(t, svc).ShouldRateLimit(t.Context(), ask("a"))
		require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%s: %v", s.name, err)
	}
	require.Equal(t, http.StatusGatewayTimeout, send(svc.JSON(), http.MethodPost, askJSON, nil).Code)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := svc.ShouldRateLimit(ended, ask("a"))
	require.Equal(t, codes.Canceled, status.Code(err))

	svc = service.New(newEngine(t, hangs, &ratelimit.Options{OnStoreFailure: ratelimit.FailAllow}), &service.Options{Timeout: time.Millisecond})
	_, err = svc.ShouldRateLimit(t.Context(), ask("a"))
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	_, err = service.New(newEngine(t, nil, nil), &service.Options{Timeout: time.Hour}).ShouldRateLimit(t.Context(), ask("a"))
	require.NoError(t, err)
}

// Options.MaxConcurrent refuses further calls at once, over both transports.
func TestMaxConcurrent(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	store := storeFunc(func(context.Context, []ratelimit.Hit) error {
		entered <- true
		<-leave
		return nil
	})
	svc := service.New(newEngine(t, store, nil), &service.Options{MaxConcurrent: 2})
	client := setups()[2].start(t, svc)
	done := make(chan error)
	for range 2 {
		go func() {
			_, err := client.ShouldRateLimit(t.Context(), ask("a"))
			done <- err
		}()
		<-entered
	}
	_, err := client.ShouldRateLimit(t.Context(), ask("a"))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, http.StatusServiceUnavailable, send(svc.JSON(), http.MethodPost, askJSON, nil).Code)
	for range 2 {
		leave <- true
		require.NoError(t, <-done)
	}
	go func() { <-entered; leave <- true }()
	_, err = client.ShouldRateLimit(t.Context(), ask("a"))
	require.NoError(t, err)
}
