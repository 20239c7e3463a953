package postgrestest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Shared is a server for all tests of a process, which starts when the first of them needs it:
//
//	var shared postgrestest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m).Run()) }
//
// It must not be killed.
type Shared struct {
	once     sync.Once
	server   *Server
	cleanups []func()

	filling sync.Mutex
	filled  string // the URL of the database that Filled copies
}

// tests are the tests of a process, such as *testing.M.
type tests interface{ Run() int }

// Main returns the tests of the process, followed by the end of the server.
func (s *Shared) Main(m tests) tests { return &main{m, s} }

type main struct {
	tests
	shared *Shared
}

func (m *main) Run() int {
	code := m.tests.Run()
	for i := len(m.shared.cleanups) - 1; i >= 0; i-- {
		m.shared.cleanups[i]()
	}
	return code
}

// process is a test whose Cleanup waits for the end of the process.
type process struct {
	testing.TB
	shared *Shared
}

func (p process) Cleanup(f func()) { p.shared.cleanups = append(p.shared.cleanups, f) }

// Server returns the server.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server = Start(process{t, s}, "wal_level=minimal", "max_wal_senders=0", "autovacuum=off") })
	if s.server == nil {
		t.Skip("THIS TEST DID NOT RUN: the server did not start for another test")
	}
	return s.server
}

// Database creates an empty database and returns its URL.
func (s *Shared) Database(t testing.TB) (url string) {
	t.Helper()
	return s.Server(t).Database(t)
}

// Filled creates a database with what fill has written to another one, at the first call, and returns its URL.
// Fill must leave no connection open.
func (s *Shared) Filled(t testing.TB, fill func(url string) error) (url string) {
	t.Helper()
	s.filling.Lock()
	defer s.filling.Unlock()
	if s.filled == "" {
		empty := s.Database(t)
		require.NoError(t, fill(empty))
		s.filled = empty
	}
	return s.Server(t).Copy(t, s.filled)
}
