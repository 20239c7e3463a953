package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// windUp waits for the end of ctx and ends the gRPC server: unhealthy at once, then
// a delay in which all goes on, then no new calls, and at the deadline none at all.
// The HTTP server does the same at the same time.
func (s *server) windUp(ctx context.Context, g *grpc.Server) error {
	<-ctx.Done()
	s.health.Set(false)
	time.Sleep(s.settings.ShutdownDrainDelay)
	s.health.Close()

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		g.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-time.After(s.settings.ShutdownTimeout):
		s.log.Warn("gRPC calls did not finish in time", "timeout", s.settings.ShutdownTimeout)
		g.Stop()
		<-stopped
	}
	return nil
}
