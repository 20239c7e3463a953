package memcachetest

import (
	"context"
	"crypto/tls"
	"os/user"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Options are the choices for a server. The zero value, like nil, is a server without
// TLS.
type Options struct {
	// Args are further arguments of memcached, such as "-m", "16".
	Args []string
	// TLS has the server speak TLS with a certificate for 127.0.0.1 and localhost, and
	// ask for a client certificate.
	TLS bool
}

// Server is a memcached process. When it is started again it is empty.
type Server struct {
	*servertest.Process

	t      testing.TB
	args   []string
	client *tls.Config // nil without TLS
}

// patience is how long anything may take that a server does when it is asked.
const patience = 30 * time.Second

// Start runs a memcached until the test ends. opts may be nil.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	servertest.Find(t, "memcached") // before anything is made for it
	s := &Server{t: t}
	s.args = append([]string{"-l", "127.0.0.1", "-U", "0"}, runAs()...)
	s.args = append(s.args, o.Args...)
	if o.TLS {
		s.encrypt()
	}
	s.Process = servertest.Start(t, "memcached", func(port string) []string {
		return append([]string{"-p", port}, s.args...)
	}, s.ready)
	return s
}

// runAs has the server stay who we are: as root it starts only if it is told so.
func runAs() []string {
	if me, err := user.Current(); err == nil {
		return []string{"-u", me.Username}
	}
	return nil
}

// encrypt makes certificates for both sides.
func (s *Server) encrypt() {
	s.t.Helper()
	authority := certstest.NewAuthority(s.t)
	dir := s.t.TempDir()
	cert, key := authority.Write(dir, "server", "localhost")
	s.args = append(s.args, "-Z",
		"-o", "ssl_chain_cert="+cert, "-o", "ssl_key="+key,
		"-o", "ssl_ca_cert="+authority.WriteCA(dir, "ca.pem"), "-o", "ssl_verify_mode=2")
	s.client = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      authority.Pool(),
		Certificates: []tls.Certificate{authority.Issue("client")},
	}
}

func (s *Server) ready(ctx context.Context, addr string) error {
	_, err := s.ask(ctx, addr, "version")
	return err
}

// ClientTLS is what a client needs to be let in; the name of the server is left to be
// set. It is nil if the server has no TLS.
func (s *Server) ClientTLS() *tls.Config { return s.client.Clone() }
