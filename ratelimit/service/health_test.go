package service_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

func TestHealth(t *testing.T) {
	h := service.NewHealth(nil)
	g := grpc.NewServer()
	h.Register(g)
	client := healthv1.NewHealthClient(serve(t, g))

	requireState := func(serving bool) {
		t.Helper()
		want, code, body := healthv1.HealthCheckResponse_NOT_SERVING, http.StatusInternalServerError, ""
		if serving {
			want, code, body = healthv1.HealthCheckResponse_SERVING, http.StatusOK, "OK"
		}
		for _, name := range []string{"", service.HealthServiceName} {
			out, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: name})
			require.NoError(t, err)
			require.Equal(t, want, out.GetStatus(), "service %q", name)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthcheck", nil))
		require.Equal(t, code, w.Code)
		require.Equal(t, body, w.Body.String())
	}
	requireState(false)
	h.Set(true)
	requireState(true)
	_, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "unknown"})
	require.Equal(t, codes.NotFound, status.Code(err))

	watch, err := client.Watch(t.Context(), &healthv1.HealthCheckRequest{Service: service.HealthServiceName})
	require.NoError(t, err)
	first, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, first.GetStatus())

	// Close ends the watch, so that a graceful stop does not wait for its client.
	h.Close()
	for err == nil {
		_, err = watch.Recv()
	}
	require.Equal(t, codes.Canceled, status.Code(err))
	requireState(false)
	h.Set(true) // has no effect after Close
	requireState(false)
}

// After concurrent calls of Set, gRPC and HTTP report the same state.
func TestSetAtTheSameTime(t *testing.T) {
	h := service.NewHealth(nil)
	g := &registrar{}
	h.Register(g)
	for range 2000 {
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for range 20 {
					h.Set(i%2 == 0)
				}
			})
		}
		group.Wait()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthcheck", nil))
		for _, name := range []string{"", service.HealthServiceName} {
			out, err := g.health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: name})
			require.NoError(t, err)
			require.Equal(t, w.Code == http.StatusOK, out.GetStatus() == healthv1.HealthCheckResponse_SERVING, "service %q", name)
		}
	}
}

// registrar stores the health service that is registered with it.
type registrar struct{ health healthv1.HealthServer }

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, impl any) {
	r.health = impl.(healthv1.HealthServer)
}

func TestHealthChecksAreRecorded(t *testing.T) {
	took := make(durations, 2)
	g := grpc.NewServer()
	service.NewHealth(&service.HealthOptions{Calls: took}).Register(g)
	_, err := healthv1.NewHealthClient(serve(t, g)).Check(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Len(t, took, 1)
}

func TestHealthcheckMethods(t *testing.T) {
	h := service.NewHealth(nil)
	h.Set(true)
	for method, code := range map[string]int{"HEAD": 200, "POST": 405, "DELETE": 405} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/healthcheck", nil))
		require.Equal(t, code, w.Code, method)
	}
}
