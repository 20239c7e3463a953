package service

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ashlar-go/ashlar/httpx"
)

// HealthServiceName is the service whose state gRPC health reports, besides the empty
// name.
const HealthServiceName = "ratelimit"

// Health reports over gRPC and HTTP whether the service should receive calls.
type Health struct {
	grpc    *health.Server
	calls   Recorder
	change  sync.Mutex // makes changes for gRPC and HTTP atomic, also with Close
	serving atomic.Bool
	closed  context.Context
	close   context.CancelFunc
}

// HealthOptions are the optional parts of a Health. Nil means the default.
type HealthOptions struct {
	// Calls, if not nil, records the duration of each gRPC Check.
	Calls Recorder
}

// NewHealth returns a Health that is not serving until Set(true). opts may be nil.
func NewHealth(opts *HealthOptions) *Health {
	h := &Health{grpc: health.NewServer(), calls: cmp.Or(opts, &HealthOptions{}).Calls}
	h.closed, h.close = context.WithCancel(context.Background())
	h.Set(false)
	return h
}

// Set changes the state and notifies watchers. After Close it has no effect.
func (h *Health) Set(serving bool) {
	h.change.Lock()
	defer h.change.Unlock()
	serving = serving && h.closed.Err() == nil
	h.serving.Store(serving)
	state := healthv1.HealthCheckResponse_NOT_SERVING
	if serving {
		state = healthv1.HealthCheckResponse_SERVING
	}
	h.grpc.SetServingStatus("", state)
	h.grpc.SetServingStatus(HealthServiceName, state)
}

// Close makes the state not serving for good and ends all watches. Otherwise a graceful stop
// of the gRPC server would wait for their clients to end them.
func (h *Health) Close() {
	h.close()
	h.Set(false)
	h.grpc.Shutdown()
}

// Register registers the gRPC health service.
func (h *Health) Register(r grpc.ServiceRegistrar) {
	healthv1.RegisterHealthServer(r, healthServer{h.grpc, h})
}

// ServeHTTP handles GET /healthcheck: 200 "OK", or 500 without a body.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		httpx.WriteError(w, r, &httpx.Error{Status: http.StatusMethodNotAllowed, Message: "use GET", Header: http.Header{"Allow": {"GET, HEAD"}}})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if !h.serving.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("OK"))
}

// healthServer ends the watches of the library's server on Close.
type healthServer struct {
	*health.Server
	health *Health
}

func (s healthServer) Check(ctx context.Context, in *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if calls := s.health.calls; calls != nil {
		defer func(start time.Time) { calls.Record(time.Since(start)) }(time.Now())
	}
	return s.Server.Check(ctx, in)
}

func (s healthServer) Watch(in *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.health.closed, cancel)()
	return s.Server.Watch(in, watchStream{stream, ctx})
}

type watchStream struct {
	healthv1.Health_WatchServer
	ctx context.Context
}

func (w watchStream) Context() context.Context { return w.ctx }
