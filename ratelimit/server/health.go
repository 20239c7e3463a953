package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/console"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// Component is the health of a part of the server. Its reason is "not reported yet" until the first report.
type Component = console.Component

// health is healthy while all of its components are (REFERENCE.md, 8.3).
type health struct {
	probe *service.Health // reports the state over gRPC and HTTP

	mu         sync.Mutex
	components []Component
}

// healthy requires the lock.
func (h *health) healthy() bool {
	return !slices.ContainsFunc(h.components, func(c Component) bool { return !c.Healthy })
}

// Healthy reports whether all components are healthy.
func (s *Server) Healthy() bool {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.healthy()
}

// ready returns an error, the reason, unless the server serves decisions and is healthy. Its text names no addresses, which
// reasons of components may.
func (s *Server) ready(context.Context) error {
	for _, c := range s.Components() {
		if !c.Healthy {
			return fmt.Errorf("unhealthy: %s", c.Name)
		}
	}
	if s.Addresses().GRPC == nil {
		return errors.New("waiting for the counter store or a configuration")
	}
	return nil
}

// Components returns the health of each part: the counter store and the configuration, if
// the settings make health depend on them, the termination of the server, and what
// AddComponent added.
func (s *Server) Components() []Component {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return slices.Clone(s.health.components)
}

// AddComponent makes the health of the server depend on a part of the program around it.
// report may be called by any number of goroutines.
func (s *Server) AddComponent(name string, healthy bool) (report func(healthy bool, reason string)) {
	h := s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.components)
	h.components = append(h.components, Component{Name: name, Healthy: healthy, Reason: "not reported yet", Since: time.Now()})
	h.probe.Set(h.healthy())
	return func(healthy bool, reason string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		c := &h.components[i]
		if c.Healthy != healthy {
			c.Healthy, c.Since = healthy, time.Now()
		}
		c.Reason = reason
		h.probe.Set(h.healthy())
	}
}
