package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc"
)

// windUp ends both servers: unhealthy at once, then a delay in which all goes on,
// then no new calls, and at the deadline none at all. If ctx has not ended,
// one of the listeners failed, and there is nothing to wait for.
func (s *server) windUp(ctx context.Context, g *grpc.Server, h *http.Server) {
	s.health.Set(false)
	if ctx.Err() != nil && s.settings.ShutdownDrainDelay > 0 {
		s.log.Info("draining", "delay", s.settings.ShutdownDrainDelay)
		time.Sleep(s.settings.ShutdownDrainDelay)
	}
	s.health.Close()

	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.settings.ShutdownTimeout)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		g.GracefulStop()
	}()
	if err := h.Shutdown(deadline); err != nil {
		s.log.Warn("HTTP requests did not finish in time", "timeout", s.settings.ShutdownTimeout)
		h.Close()
	}
	select {
	case <-stopped:
	case <-deadline.Done():
		s.log.Warn("gRPC calls did not finish in time", "timeout", s.settings.ShutdownTimeout)
		g.Stop()
		<-stopped
	}
}
