package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/internal/watch"
)

// buildTLS reads the certificates of the gRPC listener.
func (s *Server) buildTLS() error {
	set := s.settings
	if !set.GRPCServerUseTLS {
		return nil
	}
	files := tlsfiles.Files{
		Cert: set.GRPCServerTLSCert, Key: set.GRPCServerTLSKey,
		ClientCA: set.GRPCClientTLSCACert, ClientSAN: set.GRPCClientTLSSAN,
	}
	c, err := tlsfiles.NewServer(files, &tlsfiles.Options{Log: s.log})
	if err != nil {
		return fmt.Errorf("TLS of the gRPC listener (GRPC_SERVER_TLS_CERT, GRPC_SERVER_TLS_KEY, GRPC_CLIENT_TLS_CACERT):\n%w", err)
	}
	s.certs = c
	return nil
}

// watchCertificates reloads the certificates when something happens in their
// directories. What can't be used is logged and counted, and what was in use stays.
func (s *Server) watchCertificates(ctx context.Context) {
	attempts := s.registry.Counter("certs.load_attempts")
	failures := s.registry.Counter("certs.load_failures")
	s.registry.Gauge("certs.num_values").Set(2)
	reload := func() {
		attempts.Add(1)
		changed, err := s.certs.Reload()
		switch {
		case err != nil:
			s.log.Error("certificates could not be reloaded; those of before stay in use", "err", err)
			failures.Add(1)
		case changed:
			s.log.Info("certificates reloaded")
		}
	}
	opts := &watch.Options{Only: ofCertificates, Log: s.log}
	if err := watch.Dirs(ctx, s.certs.Dirs(), opts, reload); err != nil {
		s.log.Error("certificates are not watched; a change needs a restart", "err", err)
	}
}

// ofCertificates leaves out files that begin with a dot, but for the link that
// Kubernetes swaps.
func ofCertificates(_, name string, _ watch.Op) bool {
	return !strings.HasPrefix(name, ".") || name == "." || name == "..data"
}
