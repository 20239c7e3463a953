package server

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
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

// watchCertificates reloads the TLS files when they change, until ctx ends. The statistics
// are those of the reference service: loading at the start is an attempt too.
func (s *Server) watchCertificates(ctx context.Context) {
	attempts := s.registry.Counter("certs.load_attempts")
	failures := s.registry.Counter("certs.load_failures")
	s.registry.Gauge("certs.num_values").Set(2)
	attempts.Add(1)
	s.certs.Watch(ctx, func(err error) {
		attempts.Add(1)
		if err != nil {
			failures.Add(1)
			s.log.Error("TLS files can't be reloaded; the previous ones stay in use", "err", err)
			return
		}
		s.log.Info("TLS files reloaded")
	})
}
