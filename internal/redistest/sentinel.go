package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Sentinels are a master, its replica, and three sentinels that watch them.
type Sentinels struct {
	Name  string   // of the master
	Addrs []string // of the sentinels
	// Servers are the master and the replica; the first one is the master at first.
	Servers []*Server
	// Processes are the sentinels.
	Processes []*Server

	t testing.TB
}

// StartSentinel runs a master, a replica and three sentinels until the test ends. Two
// sentinels have to agree that the master is gone, after two seconds, which is longer than
// a busy machine takes. opts are those of the servers and may be nil; sentinelPassword, if
// not empty, is the password of the sentinels.
func StartSentinel(t testing.TB, opts *Options, sentinelPassword string) *Sentinels {
	t.Helper()
	opts = opts.withDefaults(t)
	master, replica := Start(t, opts), Start(t, opts)
	s := &Sentinels{Name: "main", Servers: []*Server{master, replica}, t: t}
	s.follow(replica, master)
	for range 3 {
		p := s.startSentinel(master, sentinelPassword)
		s.Processes, s.Addrs = append(s.Processes, p), append(s.Addrs, p.Addr)
	}
	for _, p := range s.Processes {
		client := p.Client()
		waitUntil(t, "the sentinels know each other and the replica", func(ctx context.Context) bool {
			cmd := redis.NewMapStringStringCmd(ctx, "sentinel", "master", s.Name)
			_ = client.Process(ctx, cmd)
			m := cmd.Val()
			return m["num-slaves"] == "1" && m["num-other-sentinels"] == "2" && m["flags"] == "master"
		})
	}
	return s
}

// follow makes one server the replica of another.
func (s *Sentinels) follow(replica, master *Server) {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	client := replica.Client()
	ctx := context.Background()
	for _, server := range []*Server{replica, master} {
		if server.opts.Password != "" {
			require.NoError(s.t, server.Client().ConfigSet(ctx, "masterauth", server.opts.Password).Err())
		}
	}
	require.NoError(s.t, client.Do(ctx, "replicaof", host, port).Err())
	master.waitForReplica(replica)
}

func (s *Sentinels) startSentinel(master *Server, password string) *Server {
	s.t.Helper()
	dir := directory(s.t)
	p := &Server{t: s.t, opts: &Options{Password: password, TLS: master.opts.TLS, certs: master.opts.certs}}
	host, port, _ := net.SplitHostPort(master.Addr)
	config := fmt.Sprintf(`bind 127.0.0.1
dir %s
sentinel monitor %[2]s %s %s 2
sentinel down-after-milliseconds %[2]s 2000
sentinel failover-timeout %[2]s 5000
`, dir, s.Name, host, port)
	if master.opts.Password != "" {
		config += fmt.Sprintf("sentinel auth-pass %s %s\n", s.Name, master.opts.Password)
	}
	if password != "" {
		config += fmt.Sprintf("requirepass %s\nsentinel sentinel-pass %[1]s\n", password)
	}
	path := filepath.Join(dir, "sentinel.conf")
	require.NoError(s.t, os.WriteFile(path, []byte(config), 0o600))
	p.args = []string{path}
	p.start("redis-sentinel", nil)
	// Shorter periods, or a failover takes many seconds. Sentinels without this command
	// take that long.
	_ = p.Client().Do(context.Background(), "sentinel", "debug", "info-period", 500, "publish-period", 100).Err()
	return p
}
