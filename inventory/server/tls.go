package server

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// loadTLS reads the certificate of TLS_CERT and TLS_KEY. It returns nil if they are unset.
func loadTLS(s *Settings, log *slog.Logger) (*tlsfiles.Server, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	server, err := tlsfiles.NewServer(tlsfiles.Files{Cert: s.TLSCert, Key: s.TLSKey}, &tlsfiles.Options{Log: log})
	if err != nil {
		return nil, fmt.Errorf("TLS_CERT, TLS_KEY:\n%w", err)
	}
	return server, nil
}

// watchCertificate reloads the certificate when its files change, until ctx ends.
func (s *Server) watchCertificate(ctx context.Context) error {
	if s.certs == nil {
		return nil
	}
	s.certs.Watch(ctx, func(err error) {
		if err != nil {
			s.log.Error("the TLS certificate can't be reloaded; the previous one stays in use", "err", err)
			return
		}
		s.log.Info("TLS certificate reloaded")
	})
	return nil
}
