package memcachetest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Options are the optional settings of a server. nil and the zero value mean a server
// without TLS.
type Options struct {
	// Args are further arguments of memcached, such as "-m", "16".
	Args []string
	// TLS enables TLS with a certificate for 127.0.0.1 and localhost. The server then
	// requires a client certificate.
	TLS bool
}

// Server is a memcached process. A restart removes its items.
type Server struct {
	*servertest.Process

	t      testing.TB
	args   []string
	client *tls.Config // nil without TLS
}

// timeout limits the start of a server and each command.
const timeout = 30 * time.Second

// Start starts a memcached that runs until the test ends. opts may be nil.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	o := *cmp.Or(opts, &Options{})
	servertest.Find(t, "memcached") // before certificates are created
	s := &Server{t: t}
	s.args = append([]string{"-l", "127.0.0.1", "-U", "0"}, runAs()...)
	s.args = append(s.args, o.Args...)
	if o.TLS {
		files := certstest.NewFiles(t)
		s.client = files.Client
		s.args = append(s.args, "-Z",
			"-o", "ssl_chain_cert="+files.Cert, "-o", "ssl_key="+files.Key,
			"-o", "ssl_ca_cert="+files.CA, "-o", "ssl_verify_mode=2")
	}
	s.Process = servertest.Start(t, "memcached", func(port string) []string {
		return append([]string{"-p", port}, s.args...)
	}, func(ctx context.Context, addr string) error {
		_, err := s.send(ctx, addr, "version")
		return err
	})
	return s
}

// runAs returns the arguments that keep the current user: memcached requires them for root.
func runAs() []string {
	if me, err := user.Current(); err == nil {
		return []string{"-u", me.Username}
	}
	return nil
}

// ClientTLS returns the configuration for a client, without a ServerName. It is nil if the
// server has no TLS.
func (s *Server) ClientTLS() *tls.Config { return s.client.Clone() }

// Do sends one command, such as "mg key t v" or, with the data on a second line, "ms key
// 2\r\n42", and returns the reply without line ends: one line, and a second one if the reply
// contains data. The test fails if there is no reply.
func (s *Server) Do(command string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	reply, err := s.send(ctx, s.Addr, command)
	if err != nil {
		s.t.Fatalf("memcachetest: command %q: %v", command, err)
	}
	return reply
}

// Value returns the value of the key, "" if the key does not exist.
func (s *Server) Value(key string) string {
	s.t.Helper()
	_, value, _ := strings.Cut(s.Do("mg "+key+" v"), "\n")
	return value
}

// Set stores a value without expiry.
func (s *Server) Set(key, value string) {
	s.t.Helper()
	if reply := s.Do(fmt.Sprintf("ms %s %d\r\n%s", key, len(value), value)); reply != "HD" {
		s.t.Fatalf("memcachetest: set %q: unexpected reply %q", key, reply)
	}
}

func (s *Server) send(ctx context.Context, addr, command string) (string, error) {
	conn, err := s.dial(ctx, addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "VA ") {
		return strings.TrimSpace(line), err
	}
	data, err := r.ReadString('\n')
	return strings.TrimSpace(line) + "\n" + strings.TrimRight(data, "\r\n"), err
}

func (s *Server) dial(ctx context.Context, addr string) (net.Conn, error) {
	if s.client == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: s.ClientTLS()}).DialContext(ctx, "tcp", addr)
}
