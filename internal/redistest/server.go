package redistest

import (
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

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Options are the choices for a server. The zero value, like nil, is a server without
// passwords, on TCP and on a unix socket.
type Options struct {
	// Args are further arguments of redis-server, such as "--maxmemory", "1mb".
	Args []string
	// Password is that of the default user. Default: none.
	Password string
	// Users are further rules of access, one a user, such as "alice on >secret ~* +@all".
	Users []string
	// TLS has the server speak TLS on its port, and ask for a client certificate. In a
	// cluster, and with sentinels, all servers do, and one client may talk to all.
	TLS bool

	keys *keys // those of the group; nil without TLS
}

// orDefault has keys if there is TLS.
func (o *Options) orDefault(t testing.TB) *Options {
	t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.TLS && opts.keys == nil {
		opts.keys = writeKeys(t)
	}
	return &opts
}

// Server is a redis-server process. When it is started again it is empty.
type Server struct {
	*servertest.Process
	Socket string // path of its unix socket; "" for nodes of a cluster

	t    testing.TB
	args []string
	opts *Options
}

// patience is how long anything may take that a server does when it is asked. Sentinels
// that were held up do nothing for half a minute.
const patience = time.Minute

// Start runs a redis-server until the test ends. opts may be nil.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	servertest.Find(t, "redis-server") // before anything is made for it
	s := prepare(t, opts.orDefault(t))
	s.Socket = filepath.Join(directory(t), "socket")
	s.args = append(s.args, "--unixsocket", s.Socket)
	s.start("redis-server", nil)
	return s
}

// prepare makes a server that is yet to start.
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

// directory is short, because the path of a socket must be.
func directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start runs the program. further, which may be nil, are arguments that are new with
// each attempt.
func (s *Server) start(program string, further func() []string) {
	s.t.Helper()
	s.Process = servertest.Start(s.t, program, func(port string) []string {
		args := append([]string{}, s.args...)
		if further != nil {
			args = append(args, further()...)
		}
		if s.opts.TLS {
			return append(args, s.opts.keys.args(port)...)
		}
		return append(args, "--port", port)
	}, s.ready)
}

func (s *Server) ready(ctx context.Context, addr string) error {
	// The client would log that nobody is there yet.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	_ = conn.Close()
	client := s.dial(addr)
	defer func() { _ = client.Close() }()
	return client.Ping(ctx).Err()
}

// Client speaks to the server as its default user until the test ends.
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

// ClientTLS is what a client needs to be let in. It is nil if the server has no TLS.
func (s *Server) ClientTLS() *tls.Config {
	if s.opts.keys == nil {
		return nil
	}
	return s.opts.keys.client.Clone()
}

// awaitReplica returns when the replica follows this server, which is empty. A replica
// says that it is connected up to a second before it is told anything, and whoever makes
// it the master then loses all of that.
func (s *Server) awaitReplica(replica *Server) {
	s.t.Helper()
	client := replica.Client()
	until(s.t, "the replica is connected", func(ctx context.Context) bool {
		role, err := client.Do(ctx, "role").Slice()
		return err == nil && len(role) > 3 && role[3] == "connected"
	})
	client = s.Client()
	until(s.t, "the replica is in step", func(ctx context.Context) bool {
		pipe := client.Pipeline() // on one connection, whose writes WAIT is about
		pipe.FlushAll(ctx)
		got := pipe.Do(ctx, "wait", 1, time.Second.Milliseconds())
		_, err := pipe.Exec(ctx)
		return err == nil && got.Val() == int64(1)
	})
}

// until waits for something to become true.
func until(t testing.TB, what string, is func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !is(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("redistest: waited %v in vain until %s", patience, what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
