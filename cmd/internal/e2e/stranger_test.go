//go:build unix

package e2e_test

import (
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

var emptyCaches = flag.Bool("empty-caches", false, "TestStranger begins with empty caches of modules and builds, as make stranger has it")

// stranger has a fresh clone and Go, and follows the documentation.
type stranger struct {
	t       *testing.T
	clone   string
	environ []string
	began   time.Time
}

// step does what is next, and prints how long it took.
func (s *stranger) step(name string, do func()) {
	began := time.Now()
	do()
	s.t.Logf("%6.1f s, at %5.1f s: %s", time.Since(began).Seconds(), time.Since(s.began).Seconds(), name)
}

// shell runs a command in the clone, and requires that the output matches.
func (s *stranger) shell(line, want string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = s.clone, s.environ
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s\n%s", line, out)
	require.Regexp(s.t, want, string(out), line)
	if strings.HasPrefix(line, "du ") {
		s.t.Logf("caches:\n%s", out)
	}
}

// TestStranger: the first command of the README compiles and starts everything; then a limit refuses, a device is found and a manifest
// is checked, within six minutes if the caches were empty. Three people go on: a backend engineer who limits a chi API and
// shares the limit in Redis, a platform engineer who replaces envoyproxy/ratelimit, and a network engineer with a spreadsheet.
// TestPages runs the other commands of the documentation, TestMistakes what goes wrong at first.
func TestStranger(t *testing.T) {
	t.Parallel()
	s := &stranger{t: t, clone: copyRepository(t), environ: append(os.Environ(), trimpath()), began: time.Now()}
	builds, modules := t.TempDir(), t.TempDir()
	if *emptyCaches {
		s.environ = append(s.environ, "GOCACHE="+builds, "GOMODCACHE="+modules, "GOFLAGS=-modcacherw")
	}
	s.everything()
	if *emptyCaches {
		s.shell("du -shc "+builds+" "+modules, "total")
		require.Less(t, time.Since(s.began), 6*time.Minute, "two cores without other work")
	}
	s.backend()
	s.platform()
	s.network()
	t.Run("install", func(t *testing.T) {
		bin := t.TempDir()
		install := exec.CommandContext(t.Context(), "make", "install")
		install.Dir, install.Env = s.clone, append(s.environ, "GOBIN="+bin)
		out, err := install.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, dir := range programs() {
			if name := path.Base(dir); strings.HasPrefix(dir, "./cmd/") {
				help, err := exec.CommandContext(t.Context(), filepath.Join(bin, name), "-h").Output()
				require.NoError(t, err, name)
				require.Contains(t, string(help), "Usage:", name)
			}
		}
	})
}

// everything starts ashlar and does one thing with each of its systems.
func (s *stranger) everything() {
	p := &process{t: s.t, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	found := func(pattern string) string {
		return regexp.MustCompile(pattern).FindStringSubmatch(p.stdout.String())[1]
	}
	data := isolated(s.t)
	s.step("go run ./cmd/ashlar: it has started", func() {
		p.cmd = exec.Command("go", append([]string{"run", "./cmd/ashlar"}, data...)...)
		p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = s.clone, p.stdout, p.stderr, s.environ
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(s.t, p.cmd.Start())
		go func() {
			defer close(p.ended)
			_ = p.cmd.Wait()
		}()
		s.t.Cleanup(func() {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			p.cleanup()
		})
		started := false
		for end := time.Now().Add(5 * timeout); !started && time.Now().Before(end); { // it compiles
			started = p.stdout.await(`Limits change`, p.ended) != nil
		}
		require.True(s.t, started, "it did not start")
		code, page := httpDo(s.t, http.MethodGet, found(`start here +(http://[0-9.:]+/)\n`), "")
		require.Equal(s.t, http.StatusOK, code)
		require.Contains(s.t, page, "/console/")
	})
	s.step("a limit is refused", func() { s.shell(found(`(?m)^  (go run ./cmd/ratelimit-client .*)$`)+" -n 12", "(?m)^refused: ") })
	s.step("a device is found", func() {
		api := found(`inventory +(http://[0-9.:]+)/console/`)
		s.shell(`token=$(curl -sS --json '{"username":"admin","password":"'"$(cat `+filepath.Join(data[1], "admin-password")+`)"'"}' `+api+
			`/users/login | sed 's/.*"token":"\([^"]*\)".*/\1/'); curl -sS -H "Authorization: Bearer $token" '`+api+`/devices?hostname__contains=core'`, `"hostname":"[^"]*core`)
	})
	s.step("a manifest is checked", func() { s.shell("go run ./cmd/manifest validate manifest/testdata/examples/local.json", "0 errors") })
	require.NoError(s.t, syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)) // Ctrl-C in a terminal
	p.code()                                                               // that of an interrupted go run is 1
	require.NotContains(s.t, p.stderr.String(), "exit status", "go run says so if the program failed")
}

func (s *stranger) backend() {
	redis := redistest.Start(s.t, nil).Addr
	ask := func(w *listening, n int) (last int) {
		for range n {
			last, _ = httpDo(s.t, http.MethodGet, "http://"+w.addrs["8091"]+"/", "")
		}
		return last
	}
	s.step("backend engineer: a chi API refuses the sixth request of a key", func() {
		w := startServer(s.t, "go run ./examples/api-keys")
		require.True(s.t, denied(s.t, w.at("curl -si 127.0.0.1:8007/ -H 'X-Api-Key: free-key'"), 5))
		w.stop()
	})
	s.step("backend engineer: two processes share 20 requests in Redis", func() {
		one, other := startServer(s.t, "go run ./examples/redis-limit -redis "+redis), startServer(s.t, "go run ./examples/redis-limit -redis "+redis)
		undivided(24*time.Hour, func() {
			s.shell("redis-cli -p "+redis[strings.LastIndex(redis, ":")+1:]+" flushall", "OK")
			require.Equal(s.t, http.StatusOK, ask(one, 10))
			require.Equal(s.t, http.StatusOK, ask(other, 10))
			require.Equal(s.t, http.StatusTooManyRequests, ask(one, 1))
		})
		one.stop()
		other.stop()
	})
}

func (s *stranger) platform() {
	s.step("platform engineer: the rules of Envoy are checked", func() {
		s.shell("go run ./cmd/ratelimit-check -strict deploy/compose/limits", "all rate limit configs ok")
	})
	s.step("platform engineer: ratelimitd takes the place of the service, with its Redis", func() {
		redis := redistest.Start(s.t, nil).Addr
		w := startDocumented(s.t, s.clone, "REDIS_URL="+redis+" ratelimitd -limits deploy/compose/limits")
		s.shell(built("ratelimit-client")+" -dial_string "+w.addrs["8081"]+" -domain front -descriptors path=/login,remote_address=192.0.2.1 -n 11", "(?m)^refused: ")
		s.shell("redis-cli -p "+redis[strings.LastIndex(redis, ":")+1:]+" --scan --pattern 'front_path_/login_remote_address_192.0.2.1_*'", `^front_path`)
		w.stop()
	})
}

func (s *stranger) network() {
	file, database := filepath.Join(s.clone, "devices.csv"), filepath.Join(s.clone, "network.db")
	sheet := "hostname,ip,vendor,model,os,status\nber1-core-1,192.0.2.1,Juniper,QFX5120,Junos,active\nber1-core-2,192.0.2.2,Juniper,QFX5120,Junos,active\n"
	require.NoError(s.t, os.WriteFile(file, []byte(sheet), 0o600))
	command := "go run ./cmd/inventoryd -database-url network.db import "
	s.step("network engineer: what a spreadsheet would change", func() { s.shell(command+"-dry-run devices.csv", "2 would be created.* 0 rejected") })
	s.step("network engineer: the spreadsheet is imported", func() { s.shell(command+"devices.csv", "2 created.* 0 rejected") })
	s.step("network engineer: a device is found", func() {
		i := startInventory(s.t, database, nil)
		code, body := i.send("GET", "/devices?hostname=ber1-core-2&fields=ip", "")
		require.Equal(s.t, http.StatusOK, code)
		require.Contains(s.t, body, "192.0.2.2")
		i.stop()
	})
}
