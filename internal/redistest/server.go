package redistest

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Options configures servers. The zero value, like nil, means servers without passwords
// and TLS.
type Options struct {
	// Program is the server. Default: redis-server. See Valkey.
	Program string
	// Args are further arguments of redis-server, such as "--maxmemory", "1mb".
	Args []string
	// Password is the password of the default user. Default: none.
	Password string
	// Users are ACL rules, one for each user, such as "alice on >secret ~* +@all".
	Users []string
	// TLS enables TLS and client certificates. All servers of a cluster or group, and the
	// sentinels, accept the same client.
	TLS bool

	certs *certstest.Files // shared by the group; nil without TLS
}

// withDefaults returns a copy, with certificates if there is TLS.
func (o *Options) withDefaults(t testing.TB) *Options {
	t.Helper()
	opts := *cmp.Or(o, &Options{})
	opts.Program = servertest.Find(t, cmp.Or(opts.Program, "redis-server")) // skips the test before it creates files
	if opts.TLS && opts.certs == nil {
		opts.certs = certstest.NewFiles(t)
	}
	return &opts
}

// Valkey returns Options.Program for Valkey: ASHLAR_VALKEY, or valkey-server on the PATH.
func Valkey() string { return cmp.Or(os.Getenv("ASHLAR_VALKEY"), "valkey-server") }

// Server is a redis-server process. It is empty after a restart.
type Server struct {
	*servertest.Process
	Socket string // the path of its unix socket; empty in a cluster

	t    testing.TB
	args []string
	opts *Options
}

// timeout bounds every wait. A sentinel that was delayed by the machine does nothing for
// half a minute.
const timeout = time.Minute

// Start runs a redis-server until the test ends. opts may be nil.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	opts = opts.withDefaults(t)
	s := prepare(t, opts)
	s.Socket = filepath.Join(directory(t), "socket")
	s.args = append(s.args, "--unixsocket", s.Socket)
	s.start(opts.Program, nil)
	return s
}

// prepare returns a server that is not started yet.
func prepare(t testing.TB, opts *Options) *Server {
	t.Helper()
	s := &Server{t: t, opts: opts}
	s.args = []string{
		"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory(t), "--databases", "1",
		"--repl-diskless-sync-delay", "0",
	}
	if opts.Password != "" {
		s.args = append(s.args, "--requirepass", opts.Password)
	}
	for _, user := range opts.Users {
		s.args = append(append(s.args, "--user"), strings.Fields(user)...)
	}
	s.args = append(s.args, opts.Args...)
	return s
}

// directory creates a directory with a short path, as a unix socket needs it.
func directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start runs the program. further, which may be nil, returns arguments that change with
// each attempt.
func (s *Server) start(program string, further func() []string) {
	s.t.Helper()
	s.Process = servertest.Start(s.t, program, func(port string) []string {
		args := append([]string{}, s.args...)
		if further != nil {
			args = append(args, further()...)
		}
		if c := s.opts.certs; c != nil {
			return append(args, "--port", "0", "--tls-port", port, "--tls-replication", "yes", "--tls-cluster", "yes",
				"--tls-cert-file", c.Cert, "--tls-key-file", c.Key, "--tls-ca-cert-file", c.CA)
		}
		return append(args, "--port", port)
	}, s.ready)
}

func (s *Server) ready(ctx context.Context, addr string) error {
	// The client would log errors until the server listens.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	_ = conn.Close()
	client := s.dial(addr)
	defer func() { _ = client.Close() }()
	return client.Ping(ctx).Err()
}

// Client returns a client for the default user, which is closed when the test ends.
func (s *Server) Client() *redis.Client {
	client := s.dial(s.Addr)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (s *Server) dial(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Password: s.opts.Password, TLSConfig: s.ClientTLS(),
		Protocol: 2, MaxRetries: -1, DialerRetries: 1, PoolSize: 100, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// ClientTLS returns the TLS configuration for clients. It is nil without TLS.
func (s *Server) ClientTLS() *tls.Config {
	if s.opts.certs == nil {
		return nil
	}
	return s.opts.certs.Client.Clone()
}

// waitForReplica returns when the replica replicates this server, whose data it deletes.
// A replica reports that it is connected up to a second before it receives data; a test
// that promotes it in between would lose the data.
func (s *Server) waitForReplica(replica *Server) {
	s.t.Helper()
	client := replica.Client()
	waitUntil(s.t, "the replica is connected", func(ctx context.Context) bool {
		role, err := client.Do(ctx, "role").Slice()
		return err == nil && len(role) > 3 && role[3] == "connected"
	})
	client = s.Client()
	waitUntil(s.t, "the replica is in sync", func(ctx context.Context) bool {
		pipe := client.Pipeline() // WAIT is about the writes of its connection
		pipe.FlushAll(ctx)
		got := pipe.Do(ctx, "wait", 1, time.Second.Milliseconds())
		_, err := pipe.Exec(ctx)
		return err == nil && got.Val() == int64(1)
	})
}

// waitUntil polls until condition is true.
func waitUntil(t testing.TB, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("redistest: waited %v until %s", timeout, what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
