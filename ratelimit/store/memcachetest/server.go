package memcachetest

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/certs/certstest"
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

// Server is a memcached process.
type Server struct {
	Addr string // host:port

	t       testing.TB
	program string
	args    []string
	client  *tls.Config // nil without TLS

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
	output  *buffer
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
	s := &Server{t: t, program: find(t)}
	s.args = append([]string{"-l", "127.0.0.1", "-U", "0"}, runAs()...)
	s.args = append(s.args, o.Args...)
	if o.TLS {
		s.encrypt()
	}
	t.Cleanup(s.Kill)
	s.start()
	return s
}

// find is the path of memcached.
func find(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("memcached")
	if err == nil {
		return path
	}
	const why = "THIS TEST DID NOT RUN: it needs memcached on the PATH, and there is none"
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
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

// start runs the server on a new port, again if another process takes it.
func (s *Server) start() {
	s.t.Helper()
	var err error
	for range 5 {
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(s.t)))
		if err = s.run(); err == nil {
			return
		}
	}
	s.t.Fatalf("memcachetest: %s does not start: %v", s.program, err)
}

// run starts the process on the server's address and waits until it answers.
func (s *Server) run() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, port, _ := net.SplitHostPort(s.Addr)
	process := exec.Command(s.program, append([]string{"-p", port}, s.args...)...)
	s.output = new(buffer)
	process.Stdout, process.Stderr = s.output, s.output
	if err := process.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.process, s.ended = process, ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	return s.answers()
}

// answers waits for the first answer.
func (s *Server) answers() error {
	err := error(nil)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err = s.ask("version", patience); err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("it ended: %s", s.output)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("it does not answer: %w: %s", err, s.output)
}

// ClientTLS is what a client needs to be let in; the name of the server is left to be
// set. It is nil if the server has no TLS.
func (s *Server) ClientTLS() *tls.Config { return s.client.Clone() }

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

// Restart kills the server, if it runs, and starts it again on the same address,
// empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.run(); err != nil {
		s.t.Fatalf("memcachetest: the server does not start again: %v", err)
	}
}

func (s *Server) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
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
