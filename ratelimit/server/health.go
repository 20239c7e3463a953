package server

import (
	"github.com/ashlar-go/ashlar/internal/health"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// buildHealth makes the components of the specification ("States and transitions")
// and has gRPC and HTTP told what they come to.
func (s *Server) buildHealth() error {
	s.health = health.New(nil)
	s.termination = s.health.Component("termination", true)
	if s.settings.HealthyWithConfig {
		s.config = s.health.Component("configuration", false)
	}
	s.probe = service.NewHealth(&service.HealthOptions{Calls: s.method("Check")})
	s.health.Notify(s.probe.Set)
	return nil
}
