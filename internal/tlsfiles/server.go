package tlsfiles

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Files are the PEM files of a server, at most 1 MiB each, and what it asks of its
// clients.
type Files struct {
	Cert string // path of the certificate chain, the server's own first; required
	Key  string // path of its private key, not encrypted; required

	// ClientCA is the path of the authorities that clients' certificates must come
	// from. "" asks clients for no certificate.
	ClientCA string
	// ClientSAN is a DNS name that clients' certificates must be for: one of their
	// DNS subject alternative names, wildcards of theirs included. "" lets all in that
	// ClientCA does. It needs ClientCA.
	ClientSAN string
}

// Server is the TLS identity of a server and its trust in clients, as last loaded.
// Make one with NewServer. Any number of goroutines may use it.
type Server struct {
	files   Files
	opts    Options
	tickets *tls.Config // has the keys of session tickets, which it renews daily

	reloading sync.Mutex // held by Reload, so that the last to read is the last to store
	current   atomic.Pointer[identity]
}

// identity is the outcome of one load.
type identity struct {
	sum    [sha256.Size]byte // of the contents of all files
	config *tls.Config       // without protocols
}

// NewServer loads the files. It fails if one is missing or not what it should be
// (errors of type *FileError, one for each), if the key does not belong to the
// certificate, or if ClientSAN is no DNS name or stands without ClientCA. Certificates
// out of their time are warned about in the log, and used. opts may be nil.
func NewServer(files Files, opts *Options) (*Server, error) {
	s := &Server{files: files, opts: opts.orDefault()}
	s.tickets = &tls.Config{MinVersion: tls.VersionTLS12, Time: s.opts.Now}
	if err := errors.Join(checkClientSAN(files), s.load()); err != nil {
		return nil, err
	}
	return s, nil
}

// Config returns a configuration for listeners: TLS 1.2 or newer, with what was last
// loaded at the time of each handshake. The protocols are offered in ALPN, best
// first: "h2" is what gRPC needs, "h2" and "http/1.1" what HTTP does. They must be
// given here, because the configuration of a handshake replaces the one returned.
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

// Reload reads all files again and reports whether they hold anything new, which is
// then in force for handshakes that start after it. If any is not what NewServer
// would accept, it returns an error like NewServer's and all stays as it was.
//
// Sessions under the client authorities of before can't be resumed after these have
// changed. Connections that are open are not touched.
func (s *Server) Reload() (changed bool, err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	before := s.current.Load()
	err = s.load()
	return s.current.Load() != before, err
}

// Watch reloads the files when their content changes, until ctx ends. After each change
// it calls reloaded, with nil or with the error of Reload. An error that persists is
// reported once.
//
// Watch reads the files every [Options].Poll.
func (s *Server) Watch(ctx context.Context, reloaded func(error)) {
	poll := time.NewTicker(s.opts.Poll)
	defer poll.Stop()
	reported := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		changed, err := s.Reload()
		switch {
		case err == nil:
			if changed || reported != "" {
				reloaded(nil)
			}
			reported = ""
		case err.Error() != reported:
			reported = err.Error()
			reloaded(err)
		}
	}
}

// load reads and stores an identity, if there is a new one.
func (s *Server) load() error {
	cert, certErr := open(ServerCertificate, s.files.Cert)
	key, keyErr := open(ServerKey, s.files.Key)
	var ca *file
	var caErr error
	if s.files.ClientCA != "" {
		ca, caErr = open(ClientCA, s.files.ClientCA)
	}
	if err := errors.Join(certErr, keyErr, caErr); err != nil {
		return err
	}
	sum := sumOf(cert, key, ca)
	if old := s.current.Load(); old != nil && old.sum == sum {
		return nil
	}
	config, err := s.parse(cert, key, ca)
	if err != nil {
		return err
	}
	s.current.Store(&identity{sum: sum, config: config})
	return nil
}

// parse makes the configuration of handshakes.
func (s *Server) parse(cert, key, ca *file) (*tls.Config, error) {
	own, chain, pairErr := pair(cert, key)
	t, trustErr := s.parseTrust(ca)
	if err := errors.Join(pairErr, trustErr); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*own}, Time: s.opts.Now}
	t.apply(config)
	s.opts.warn(cert, chain)
	if t != nil {
		s.opts.warn(ca, t.authorities)
	}
	return config, nil
}

// sumOf tells contents apart. A file that is not there is not an empty one.
func sumOf(files ...*file) [sha256.Size]byte {
	var all []byte
	for _, f := range files {
		if f != nil {
			sum := sha256.Sum256(f.data)
			all = append(all, sum[:]...)
		}
	}
	return sha256.Sum256(all)
}
