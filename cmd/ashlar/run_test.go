package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output keeps what the program prints, for tests that wait for it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.more <- struct{}{}:
		default:
		}
	}()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the program on free ports and returns its welcome, and a function
// that ends it as Ctrl-C does and returns the exit code.
func start(t *testing.T, args ...string) (welcome string, stop func() int) {
	t.Helper()
	_, welcome, stop = launch(t, args...)
	return welcome, stop
}

// launch is start, and also returns what the program prints later.
func launch(t *testing.T, args ...string) (out *output, welcome string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	out = &output{more: make(chan struct{}, 1)}
	done := make(chan int, 1)
	args = append(anywhere(t), args...)
	go func() { done <- cli.Run(ctx, "ashlar", run, cli.Env{Args: args, Stdout: out, Stderr: out}) }()
	late := time.After(timeout)
	for !strings.Contains(out.String(), "ashlar is running") { // the log may come first
		select {
		case <-out.more:
		case code := <-done:
			t.Fatalf("ended with code %d:\n%s", code, out)
		case <-late:
			t.Fatalf("it does not say that it is running:\n%s", out)
		}
	}
	return out, out.String(), func() int {
		cancel()
		select {
		case code := <-done:
			return code
		case <-time.After(timeout):
			t.Fatalf("does not end:\n%s", out)
			return -1
		}
	}
}

// timeout bounds a start or an end on a busy machine.
const timeout = 2 * time.Minute

// anywhere are the flags for free ports, and a directory that is gone with the test.
func anywhere(t *testing.T) []string {
	args := []string{"-data", t.TempDir(), "-devices", "20"}
	for _, port := range []string{"-port", "-inventory-port", "-catalog-port", "-http-port", "-grpc-port", "-debug-port"} {
		args = append(args, port, "0")
	}
	return args
}

var command = regexp.MustCompile(`(?m)^  ((?:go run|curl) .*)$`)

// shell runs a command in the root of the module and returns its output.
func shell(t *testing.T, line string) string {
	t.Helper()
	c := exec.Command("sh", "-c", line)
	c.Dir = filepath.Join("..", "..")
	text, err := c.CombinedOutput()
	require.NoError(t, err, "%s\n%s", line, text)
	return string(text)
}

func hasCurl() bool {
	_, err := exec.LookPath("curl")
	return err == nil
}

// TestPrintedCommands does what the welcome tells a new user to do.
func TestPrintedCommands(t *testing.T) {
	welcome, stop := start(t)
	commands := command.FindAllStringSubmatch(welcome, -1)
	require.Len(t, commands, 4, "commands to try:\n%s", welcome)

	client := commands[0][1]
	require.Contains(t, shell(t, client), "allowed: limit ")
	if !hasCurl() {
		t.Log("there is no curl on this machine: its commands are not run")
	} else {
		require.Contains(t, shell(t, commands[1][1]), `"overallCode":"OK"`)
		require.Contains(t, shell(t, commands[2][1]), "At Swim-Two-Birds")
		require.Contains(t, shell(t, commands[3][1]), `"token":"`)
	}
	// The sample's limit for this client is five a minute. Of twelve calls at least six are
	// in one minute, even if another begins between them.
	require.Contains(t, shell(t, client+" -n 12"), "refused: limit ")
	require.Zero(t, stop(), "Ctrl-C is an orderly end")
}

func TestLimitsOfADirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(text), 0o644))
	}
	write("domain: demo\ndescriptors:\n  - key: client\n    rate_limit: {unit: day, requests_per_unit: 0}\n")
	welcome, stop := start(t, "-limits", dir)
	require.Contains(t, welcome, "all files in "+dir)
	c := exec.Command("sh", "-c", command.FindStringSubmatch(welcome)[1])
	c.Dir = filepath.Join("..", "..")
	text, err := c.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(text), "refused: limit 0/day", "the edited limit is in force")
	require.Zero(t, stop())

	write("domain: demo\ndescriptors:\n  - key: client\n    rate_limit: {unit: moon}\n  - kee: x\n")
	code, errText := fail(t, append(anywhere(t), "-limits", dir)...)
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, errText, "mine.yaml:4:")
	require.Contains(t, errText, "invalid rate limit unit 'moon'")
	require.Contains(t, errText, "mine.yaml:5:")
	require.Contains(t, errText, "unknown key 'kee'")
}

// fail runs the program with arguments that it refuses.
func fail(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var errText bytes.Buffer
	code := cli.Run(t.Context(), "ashlar", run, cli.Env{Args: args, Stdout: io.Discard, Stderr: &errText})
	return code, errText.String()
}

// TestReadmeFirstStart: the README says how much the first start downloads: the modules of the program's packages, as
// their archives are in the cache.
func TestReadmeFirstStart(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	said := regexp.MustCompile(`first start downloads (\d+) MB of modules\s+and\s+compiles for`).FindSubmatch(readme)
	require.NotNil(t, said)
	cache := strings.TrimSpace(shell(t, "go env GOMODCACHE"))
	var bytes int64
	for module := range strings.FieldsSeq(shell(t, `go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}' ./cmd/ashlar | sort -u`)) {
		path, version, _ := strings.Cut(module, "@")
		path = regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(path, func(c string) string { return "!" + strings.ToLower(c) })
		info, err := os.Stat(filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v", version+".zip"))
		if err != nil {
			t.Skip("THIS TEST DID NOT RUN: the archives of modules are not in the cache: ", err)
		}
		bytes += info.Size()
	}
	megabytes, err := strconv.ParseFloat(string(said[1]), 64)
	require.NoError(t, err)
	require.InEpsilon(t, float64(bytes)/1e6, megabytes, 0.1, "the README says %s MB", said[1])
}

// TestTakenPorts: a port that nobody has chosen is replaced by a free one, and said so. All chosen ports that are
// taken are in one error.
func TestTakenPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	open := func(args ...string) ([]*port, []string, error) {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		all := []*port{newPort(flags, "page", taken, "the page"), newPort(flags, "api", taken, "the API"), newPort(flags, "grpc", 0, "gRPC")}
		require.NoError(t, flags.Parse(args))
		notes, err := openPorts(t.Context(), "127.0.0.1", flags, all...)
		t.Cleanup(func() {
			for _, p := range all {
				require.NoError(t, p.close())
			}
		})
		return all, notes, err
	}
	all, notes, err := open()
	require.NoError(t, err)
	page, err := all[0].release()
	require.NoError(t, err)
	api, err := all[1].release()
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("port %d is taken: the page uses %d", taken, page), fmt.Sprintf("port %d is taken: the API uses %d", taken, api)}, notes)
	at := all[2].listener.Addr()
	require.Contains(t, (&addresses{home: at}).welcome("code", notes), fmt.Sprintf("note: port %d is taken", taken))

	number := strconv.Itoa(taken)
	_, _, err = open("--api", number, "--page", number)
	require.Regexp(t, `^listen tcp 127.0.0.1:`+number+`: .*: choose another port with -page, or 0 for any free port
listen tcp 127.0.0.1:`+number+`: .*: choose another port with -api, or 0 for any free port$`, err)

	free := strconv.Itoa(page) // the default of one, and chosen for another
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	first, second := newPort(flags, "first", page, "the first"), newPort(flags, "second", 0, "the second")
	require.NoError(t, flags.Parse([]string{"--second", free}))
	notes, err = openPorts(t.Context(), "127.0.0.1", flags, first, second)
	require.NoError(t, err)
	require.Regexp(t, `^\[port `+free+` is taken: the first uses \d+\]$`, fmt.Sprint(notes))
	require.NoError(t, errors.Join(first.close(), second.close()))
}

// TestLines: requests and reloads are one line each, without what clients could put into a terminal.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	log := newTerminal(cli.Env{Stderr: &out}).log("inventory")
	log.Info("request", "method", "GET", "path", "/devices", "status", 200, "duration", 1234*time.Microsecond, "client", "127.0.0.1")
	log.Info("request", "method", "GET", "path", "/console/assets/page.js", "status", 200, "duration", time.Millisecond)
	log.Info("request", "method", "GET", "path", "/x", "status", 404, "duration", time.Millisecond, "error", "Not Found")
	log.With("files", 1).WithGroup("g").Info("configuration loaded", "note", "a\x1b[31m\nb")
	log.Warn("slow", "for", time.Second)
	log.Debug("hidden")
	require.Regexp(t, `^\d\d:\d\d:\d\d inventory 200 GET    /devices 1.23ms
\d\d:\d\d:\d\d inventory 404 GET    /x 1ms Not Found
\d\d:\d\d:\d\d inventory configuration loaded files=1 note=a\?\[31m\?b
\d\d:\d\d:\d\d inventory WARN slow for=1s
$`, out.String())
}

// TestManyLines: of thousands of requests in a second, some are lines, and one line counts the others, whether or not
// more come. Problems are always lines.
func TestManyLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		terminal := newTerminal(cli.Env{Stderr: &out})
		log := terminal.log("limits")
		call := func(n int) {
			for range n {
				log.Info("call", "method", "ShouldRateLimit", "domain", "demo", "descriptors", "client=bob", "code", "OVER_LIMIT", "duration", 31*time.Microsecond)
			}
		}
		call(12_365)
		log.Warn("slow")
		require.Equal(t, maxLines+1, strings.Count(out.String(), "\n"))
		require.Regexp(t, `^\d\d:\d\d:\d\d limits    refused ShouldRateLimit demo client=bob 30µs\n`, out.String())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Regexp(t, `WARN slow\n\d\d:\d\d:\d\d           and 12,345 more\n$`, out.String())
		call(21)
		require.NotContains(t, out.String(), "and 1 more")
		terminal.flush()
		require.Equal(t, 2*maxLines+3, strings.Count(out.String(), "\n"))
		require.Contains(t, out.String(), "and 1 more")
	})
}

// TestColors: lines have colors on a terminal only, and not with NO_COLOR.
func TestColors(t *testing.T) {
	tty, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	require.NoError(t, err)
	defer tty.Close()
	require.True(t, newTerminal(cli.Env{Stderr: tty}).color)
	require.False(t, newTerminal(cli.Env{Stderr: tty, Environ: map[string]string{"NO_COLOR": "1"}}).color)
	require.False(t, newTerminal(cli.Env{Stderr: &bytes.Buffer{}}).color)
}

// TestCallsAreLines: decisions over gRPC and HTTP, and pages below a prefix, are lines as they were sent.
func TestCallsAreLines(t *testing.T) {
	out, welcome, stop := launch(t)
	text := func() string { return strings.TrimPrefix(out.String(), welcome) }
	shell(t, command.FindStringSubmatch(welcome)[1]+" -n 12") // at least six of them in one minute
	allowed := strings.Count(text(), "limits    allowed ShouldRateLimit demo client=bob ")
	require.GreaterOrEqual(t, allowed, 5, text())
	require.Less(t, allowed, 12, text())
	require.Equal(t, 12-allowed, strings.Count(text(), "limits    refused ShouldRateLimit demo client=bob "), text())
	at := regexp.MustCompile(`rate limits +(http://\S+/console/)`).FindStringSubmatch(welcome)[1]
	code, _ := get(t, at+"health")
	require.Equal(t, http.StatusOK, code)
	code, _ = get(t, at+"try?domain=secret")
	require.Equal(t, http.StatusOK, code)
	_, _ = get(t, at+"no-such-page")
	code, _ = post(t, regexp.MustCompile(`over HTTP +(http://\S+/json)`).FindStringSubmatch(welcome)[1], "")
	require.Equal(t, http.StatusBadRequest, code)
	require.Regexp(t, `limits    200 GET    /console/try [\d.]+[mµ]s\n`, text())
	require.Regexp(t, `limits    404 GET    /console/no-such-page `, text())
	require.Regexp(t, `limits    400 POST   /json `, text())
	require.NotContains(t, text(), "/console/health", "pages repeat it")
	require.Zero(t, stop())
}

func TestMistakes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-port", port}, 1, "choose another port with -port"},
		{[]string{"-inventory-port", port}, 1, "choose another port with -inventory-port"},
		{[]string{"-catalog-port", port}, 1, "choose another port with -catalog-port"},
		{[]string{"-http-port", port}, 1, "choose another port with -http-port"},
		{[]string{"-grpc-port", port}, 1, "choose another port with -grpc-port"},
		{[]string{"-debug-port", port}, 1, "choose another port with -debug-port"},
		{[]string{"-data", file}, 1, "-data: "},
		{[]string{"-host", "192.0.2.1"}, 1, "ashlar: -host: listen tcp 192.0.2.1:0: "},
		{[]string{"-limits", "/does/not/exist"}, 2, "/does/not/exist"},
		{[]string{"-limits", file}, 2, "use its directory"},
		{[]string{"extra"}, 2, "no arguments"},
		{[]string{"-colour"}, 2, "-colour"},
	} {
		code, text := fail(t, append(anywhere(t), c.args...)...)
		require.Equal(t, c.code, code, "%v: %s", c.args, text)
		require.Contains(t, text, c.says, "%v", c.args)
	}
}
