//go:build unix

package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stranger has a fresh clone and Go. The first command of the README compiles and starts everything,
// and make install installs every program. TestPages runs the other commands of the documentation,
// TestMistakes what goes wrong at first.
func TestStranger(t *testing.T) {
	t.Parallel()
	clone := copyRepository(t)
	t.Run("run", func(t *testing.T) {
		p := &process{t: t, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
		p.cmd = exec.Command("go", append([]string{"run", "./cmd/ashlar"}, isolated(t)...)...)
		p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = clone, p.stdout, p.stderr
		p.cmd.Env = append(os.Environ(), trimpath())
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, p.cmd.Start())
		go func() {
			defer close(p.ended)
			_ = p.cmd.Wait()
		}()
		t.Cleanup(func() {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			p.cleanup()
		})
		var url []string
		for end := time.Now().Add(5 * timeout); url == nil && time.Now().Before(end); { // it compiles
			url = p.stdout.await(`start here +(http://[0-9.:]+/)\n`, p.ended)
		}
		require.NotNil(t, url, "it did not start")
		code, page := httpDo(t, http.MethodGet, url[1], "")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, page, "/console/")
		require.NoError(t, syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)) // Ctrl-C in a terminal
		p.code()                                                             // that of an interrupted go run is 1
		require.NotContains(t, p.stderr.String(), "exit status", "go run says so if the program failed")
	})
	t.Run("install", func(t *testing.T) {
		bin := t.TempDir()
		install := exec.CommandContext(t.Context(), "make", "install")
		install.Dir, install.Env = clone, append(os.Environ(), trimpath(), "GOBIN="+bin)
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
