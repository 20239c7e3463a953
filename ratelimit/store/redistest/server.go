package redistest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
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
	// TLS has the server speak TLS on its port, and ask for a client certificate.
	TLS bool
}

// Server is a redis-server process.
type Server struct {
	Addr   string // host:port
	Socket string // path of its unix socket; "" for nodes of a cluster

	t       testing.TB
	program string
	args    []string
	opts    Options
	dir     string
	keys    *keys // nil without TLS

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
	output  *buffer
}

// patience is how long anything may take that a server does when it is asked.
const patience = 30 * time.Second

// Start runs a redis-server until the test ends. opts may be nil.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	s := prepare(t, "redis-server", opts)
	s.args = append(s.args, "--unixsocket", s.Socket)
	s.start()
	return s
}

// prepare makes a server that is yet to start.
func prepare(t testing.TB, program string, opts *Options) *Server {
	t.Helper()
	path := find(t, program)
	s := &Server{t: t, program: path, dir: directory(t)}
	if opts != nil {
		s.opts = *opts
	}
	s.Socket = filepath.Join(s.dir, "socket")
	s.args = []string{
		"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir, "--databases", "1",
		"--repl-diskless-sync-delay", "0",
	}
	if s.opts.TLS {
		s.keys = writeKeys(t, s.dir)
	}
	if s.opts.Password != "" {
		s.args = append(s.args, "--requirepass", s.opts.Password)
	}
	for _, user := range s.opts.Users {
		s.args = append(append(s.args, "--user"), strings.Fields(user)...)
	}
	s.args = append(s.args, s.opts.Args...)
	return s
}

// find is the path of a program that tests need.
func find(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	const why = "THIS TEST DID NOT RUN: it needs %s on the PATH, and there is none"
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatalf(why, program)
	}
	t.Skipf(why, program)
	return ""
}

// directory is short, because the path of a socket must be.
func directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start runs the server on new ports, again if another process takes one of them.
func (s *Server) start() {
	s.t.Helper()
	s.t.Cleanup(s.Kill)
	var err error
	for range 5 {
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(s.t)))
		if err = s.run(); err == nil {
			return
		}
	}
	s.t.Fatalf("redistest: %s does not start: %v", s.program, err)
}

// run starts the process on the server's address and waits until it answers.
func (s *Server) run() error {
	_, port, _ := net.SplitHostPort(s.Addr)
	args := append([]string{}, s.args...)
	if s.opts.TLS {
		args = append(args, "--port", "0", "--tls-port", port)
		args = append(args, s.keys.args()...)
	} else {
		args = append(args, "--port", port)
	}
	return s.launch(args)
}

func (s *Server) launch(args []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.output = new(buffer)
	s.process = exec.Command(s.program, args...)
	s.process.Stdout, s.process.Stderr = s.output, s.output
	if err := s.process.Start(); err != nil {
		return err
	}
	ended, process := make(chan struct{}), s.process
	s.ended = ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	return s.answers()
}

// answers waits for the first answer.
func (s *Server) answers() error {
	client := s.dial()
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-s.ended:
			return fmt.Errorf("it ended: %s", s.output)
		case <-time.After(10 * time.Millisecond):
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := client.Ping(ctx).Err()
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("it does not answer: %s", s.output)
}

// Client speaks to the server as its default user until the test ends.
func (s *Server) Client() *redis.Client {
	client := s.dial()
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (s *Server) dial() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.Addr, Password: s.opts.Password, TLSConfig: s.ClientTLS(),
		Protocol: 2, MaxRetries: -1, DialerRetries: 1, PoolSize: 100,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// ClientTLS is what a client needs to be let in. It is nil if the server has no TLS.
func (s *Server) ClientTLS() *tls.Config {
	if s.keys == nil {
		return nil
	}
	return s.keys.client.Clone()
}

// Kill ends the process at once, if it runs, and returns when it is gone.
func (s *Server) Kill() {
	s.signal(os.Kill)
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// Restart kills the server and starts it again on the same address, empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.run(); err != nil {
		s.t.Fatalf("redistest: the server does not start again: %v", err)
	}
}

func (s *Server) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Signal(sig)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
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

// buffer collects what a process says.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
