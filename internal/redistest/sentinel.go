package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Sentinels are a master, its replica, and three sentinels that watch them.
type Sentinels struct {
	Name  string   // of the master, as the sentinels know it
	Addrs []string // of the sentinels
	// Servers are those that keep data. At first the first is the master.
	Servers []*Server
	// Processes are the sentinels.
	Processes []*Server

	t testing.TB
}

// StartSentinel runs them until the test ends. Two sentinels have to agree that the
// master is gone, after two seconds: one that only waits for a processor is not. opts are
// those of the servers and may be nil; their password is also the sentinels' if
// sentinelPassword is not empty.
func StartSentinel(t testing.TB, opts *Options, sentinelPassword string) *Sentinels {
	t.Helper()
	servertest.Find(t, "redis-server") // before anything is made for it
	opts = opts.orDefault(t)
	master, replica := Start(t, opts), Start(t, opts)
	s := &Sentinels{Name: "main", Servers: []*Server{master, replica}, t: t}
	s.follow(replica, master)
	for range 3 {
		p := s.startSentinel(master, sentinelPassword)
		s.Processes, s.Addrs = append(s.Processes, p), append(s.Addrs, p.Addr)
	}
	for _, p := range s.Processes {
		client := p.Client()
		until(t, "the sentinels know of each other and of the replica", func(ctx context.Context) bool {
			var m map[string]string
			cmd := client.Do(ctx, "sentinel", "master", s.Name)
			m = pairs(cmd.Val())
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
			check(s.t, server.Client().ConfigSet(ctx, "masterauth", server.opts.Password).Err())
		}
	}
	check(s.t, client.Do(ctx, "replicaof", host, port).Err())
	master.awaitReplica(replica)
}

func (s *Sentinels) startSentinel(master *Server, password string) *Server {
	s.t.Helper()
	dir := directory(s.t)
	p := &Server{t: s.t, opts: &Options{Password: password, TLS: master.opts.TLS, keys: master.opts.keys}}
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
	check(s.t, os.WriteFile(path, []byte(config), 0o600))
	p.args = []string{path}
	p.start("redis-sentinel", nil)
	// Busier than usual, or a failover takes many seconds. A sentinel that can't be told
	// takes these seconds.
	_ = p.Client().Do(context.Background(), "sentinel", "debug", "info-period", 500, "publish-period", 100).Err()
	return p
}

// Failover has the sentinels make the replica the master while both run, and returns
// when all of them say so.
func (s *Sentinels) Failover() {
	s.t.Helper()
	client, before := s.Processes[0].Client(), s.master(0)
	until(s.t, "the failover is done", func(ctx context.Context) bool {
		// An error says that there is one already, or no replica that is fit yet.
		_ = client.Do(ctx, "sentinel", "failover", s.Name).Err()
		is := s.master(0)
		return is != "" && is != before
	})
	s.WaitForOther(before)
}

// WaitForOther returns when all sentinels know another master than this address.
func (s *Sentinels) WaitForOther(addr string) {
	s.t.Helper()
	for i := range s.Processes {
		until(s.t, "the sentinels have chosen another master", func(context.Context) bool {
			is := s.master(i)
			return is != "" && is != addr
		})
	}
}

// Master is who the first sentinel says it is.
func (s *Sentinels) Master() *Server {
	s.t.Helper()
	addr := s.master(0)
	for _, server := range s.Servers {
		if server.Addr == addr {
			return server
		}
	}
	s.t.Fatalf("redistest: the master is at %q, where no server is", addr)
	return nil
}

func (s *Sentinels) master(sentinel int) string {
	client := s.Processes[sentinel].dial(s.Processes[sentinel].Addr)
	defer func() { _ = client.Close() }()
	parts, err := client.Do(context.Background(), "sentinel", "get-master-addr-by-name", s.Name).StringSlice()
	if err != nil || len(parts) != 2 {
		return ""
	}
	return net.JoinHostPort(parts[0], parts[1])
}

// pairs makes a map of a list of names and values.
func pairs(list any) map[string]string {
	m := make(map[string]string)
	items, _ := list.([]any)
	for i := 0; i+1 < len(items); i += 2 {
		m[fmt.Sprint(items[i])] = fmt.Sprint(items[i+1])
	}
	return m
}

// portOf is the port in host:port.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
