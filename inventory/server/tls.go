package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/internal/watch"
)

// loadTLS reads the certificate of TLS_CERT and TLS_KEY; it is nil if there is none.
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

// tlsConfig is nil without a certificate.
func (s *Server) tlsConfig() *tls.Config {
	if s.certs == nil {
		return nil
	}
	return s.certs.Config("h2", "http/1.1")
}

// watchCertificate takes a new certificate when there is one, until ctx ends.
func (s *Server) watchCertificate(ctx context.Context) error {
	if s.certs == nil {
		return nil
	}
	reload := func() {
		switch changed, err := s.certs.Reload(); {
		case err != nil:
			s.log.Error("the certificate could not be reloaded; the one of before stays in use", "err", err)
		case changed:
			s.log.Info("certificate reloaded")
		}
	}
	visible := func(_, name string, _ watch.Op) bool {
		return !strings.HasPrefix(name, ".") || name == "." || name == "..data"
	}
	if err := watch.Dirs(ctx, s.certs.Dirs(), &watch.Options{Only: visible, Log: s.log}, reload); err != nil {
		s.log.Error("the certificate is not watched; a new one needs a restart", "err", err)
	}
	return nil
}
