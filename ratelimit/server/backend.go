package server

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// backend is where counters live.
type backend struct {
	store     ratelimit.Store
	perSecond ratelimit.Store             // nil if limits per second have no store of their own
	start     func(context.Context) error // waits until the stores can be used
	close     func() error
}

// openBackend makes the stores that BACKEND_TYPE names, or takes that of the options.
func (s *Server) openBackend() (*backend, error) {
	nothing := &backend{start: func(context.Context) error { return nil }, close: func() error { return nil }}
	if s.opts.Store != nil {
		nothing.store = s.opts.Store
		return nothing, nil
	}
	s.log.Info("counters", "backend", s.settings.Backend, "because", s.settings.BackendReason)
	switch s.settings.Backend {
	case settings.Embedded:
		nothing.store = memstore.New(&memstore.Options{MaxBytes: s.settings.EmbeddedMaxBytes})
		return nothing, nil
	}
	return nil, fmt.Errorf("BACKEND_TYPE %s: this version has embedded counters only: unset it and the store's URL, or set BACKEND_TYPE=embedded to count in this process all the same", s.settings.Backend)
}
