package tlsfiles

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Files are the PEM files of a server, at most 1 MiB each, and the requirements for
// client certificates.
type Files struct {
	Cert string // certificate chain, the server's own certificate first; required
	Key  string // its private key, not encrypted; required

	// ClientCA has the authorities of client certificates, without the system's: anybody can
	// get a certificate of those. If empty, clients need no certificate.
	ClientCA string
	// ClientSAN is a DNS name that client certificates must be valid for: a DNS subject
	// alternative name, or a wildcard that matches. If empty, any certificate of
	// ClientCA is accepted. It requires ClientCA.
	ClientSAN string
}

// Server is the TLS identity of a server and its trust in clients, which can be
// reloaded. It is safe for concurrent use.
type Server struct {
	files Files
	opts  Options

	reloading sync.Mutex // orders reloads, so that the last to read is the last to store
	current   atomic.Pointer[identity]
}

// identity is the result of one load.
type identity struct {
	sum    [sha256.Size]byte // of the files
	config *tls.Config       // without protocols
}

// NewServer loads the files. The error names each file that is missing or invalid. A
// certificate outside its validity period is used, with a warning in the log. opts may
// be nil.
func NewServer(files Files, opts *Options) (*Server, error) {
	s := &Server{files: files, opts: opts.withDefaults()}
	var err error
	switch name := files.ClientSAN; {
	case name != "" && files.ClientCA == "":
		err = fmt.Errorf("client certificates must be for %q, but no client CA is configured: configure both or none", name)
	case name != "" && !isDNSName(name):
		err = fmt.Errorf("client certificates must be for %q, which is not a DNS name: use one like client.example.com", name)
	}
	if err := errors.Join(err, s.load()); err != nil {
		return nil, err
	}
	return s, nil
}

// Config returns a configuration for listeners: TLS 1.2 or newer, with what is loaded at
// the time of each handshake. The protocols are offered in ALPN in order of preference:
// "h2" for gRPC, "h2" and "http/1.1" for HTTP. Setting NextProtos of the result has no
// effect.
func (s *Server) Config(protocols ...string) *tls.Config {
	protocols = slices.Clone(protocols)
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		Time:       s.opts.Now,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := s.current.Load().config.Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}

// Reload reads the files and reports whether they have changed. Handshakes that start
// afterwards use the new content. After an error, which is like that of NewServer, the
// previous content stays in use.
//
// Sessions of clients whose authority is gone can't be resumed. Open connections are not
// affected.
func (s *Server) Reload() (changed bool, err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	before := s.current.Load()
	err = s.load()
	return s.current.Load() != before, err
}

// pollInterval is the time between two readings of the files.
const pollInterval = time.Second

// Watch reloads the files when their content changes, until ctx ends. It reads them every
// second, and calls reloaded after each change with nil or the error of Reload. An error that
// persists is reported once.
func (s *Server) Watch(ctx context.Context, reloaded func(error)) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for reported := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		changed, err := s.Reload()
		switch {
		case err != nil && err.Error() != reported:
			reported = err.Error()
			reloaded(err)
		case err == nil && (changed || reported != ""):
			reported = ""
			reloaded(nil)
		}
	}
}

// load stores a new identity if the files have changed.
func (s *Server) load() error {
	cert, key, ca := file{"server certificate", s.files.Cert}, file{"private key", s.files.Key}, file{"client CA", s.files.ClientCA}
	files := []file{cert, key}
	if ca.path != "" {
		files = append(files, ca)
	}
	data, sum, err := readAll(files...)
	if err != nil {
		return err
	}
	if old := s.current.Load(); old != nil && old.sum == sum {
		return nil
	}
	pair, err := parsePair(cert, key, data[0], data[1], &s.opts)
	config := &tls.Config{MinVersion: tls.VersionTLS12, Time: s.opts.Now}
	if ca.path != "" {
		config.ClientAuth, config.VerifyConnection = tls.RequireAndVerifyClientCert, s.verifyClient
		config.ClientCAs = x509.NewCertPool()
		err = errors.Join(err, ca.addTo(config.ClientCAs, data[2]))
	}
	if err != nil {
		return err
	}
	config.Certificates = []tls.Certificate{*pair}
	s.current.Store(&identity{sum: sum, config: config})
	return nil
}

// verifyClient checks the DNS name, also for resumed sessions. The error, which is
// logged, quotes nothing of the client's certificate.
func (s *Server) verifyClient(state tls.ConnectionState) error {
	name := s.files.ClientSAN
	if name == "" || len(state.PeerCertificates) > 0 && state.PeerCertificates[0].VerifyHostname(name) == nil {
		return nil
	}
	return fmt.Errorf("the client's certificate is not valid for the required DNS name %q", name)
}
