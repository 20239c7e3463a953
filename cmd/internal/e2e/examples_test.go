//go:build unix

package e2e_test

import (
	"net/http"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/connectivity"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

func TestLimiterExample(t *testing.T) {
	t.Parallel()
	var p *process
	undivided(time.Hour, func() { p = run(t, 0, "limiter") })
	require.Empty(t, p.stderr.String())
	require.Regexp(t, `^ann: welcome, 2 left
ann: welcome, 1 left
ann: welcome, 0 left
ann: denied, 3 an hour are too few: come back in (1h0m0s|(\d+m)?\d+s)
bob: welcome, 2 left
eve, four times at once: OVER_LIMIT
$`, p.stdout.String())
}

// TestExamplesThatEnd checks the output of the examples that end by themselves.
func TestExamplesThatEnd(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"counter-store": "ann: true 1 left\nann: true 0 left\nann: false 0 left\n",
		"own-algorithm": "ann: true 1 left\nann: true 0 left\nann: false 0 left\n",
		"worker":        `60 of 60 calls succeeded in (2\.9|[3-9]).* - try two at once, .*\n`,
		"discovery":     "version 1: OK OVER_LIMIT OVER_LIMIT OVER_LIMIT\nversion 2: OK OK OK OVER_LIMIT\n",
		"inventory-store": "refused: Nothing was changed: 1 of 2 items of devices failed: item 1: Invalid IP address format\n" +
			"ber1-sw-2 192.0.2.2 active\nber1-sw-1 192.0.2.1 active\n2 entries in the log, the first: importer create device\n",
	} {
		var p *process
		undivided(24*time.Hour, func() { p = run(t, 0, name) }) // discovery has limits of a day
		require.Regexp(t, "^"+want+"$", p.stdout.String(), name)
		// On a busy machine it takes long to create a database, which is reported.
		progress := regexp.MustCompile(`(?m)^.* INFO the (database is being upgraded|upgrade of the database has ended).*\n`)
		require.Empty(t, progress.ReplaceAllString(p.stderr.String(), ""), name)
	}
}

func TestMuxExample(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./examples/mux")
	at := "http://" + w.addrs["8082"]
	code, response := httpDo(t, http.MethodGet, at+"/", "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "hello\n", response)

	// Each limit denies in the end, and the limit of the route before that of the client.
	refusals := func(method, path string, limit int) (n int) {
		for range 2*limit + 1 {
			code, response = httpDo(t, method, at+path, "")
			if code == http.StatusTooManyRequests {
				require.Contains(t, response, `{"status":"error","message":"too many requests: try again in `)
				n++
			} else {
				require.Equal(t, http.StatusOK, code)
			}
		}
		return n
	}
	require.Positive(t, refusals(http.MethodPost, "/login?user=ann", 3))
	require.Positive(t, refusals(http.MethodGet, "/", 20))
	w.stop()

	w = startServer(t, "go run ./examples/mux")
	w.signal(syscall.SIGTERM)
	require.Zero(t, w.code())
	p := start(t, nil, "mux", "-addr", "256.0.0.1:1")
	require.Equal(t, 1, p.code())
	require.Regexp(t, `^mux: listen tcp: .*256\.0\.0\.1`, p.stderr.String())
}

func TestGRPCServerExample(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./examples/grpcserver")
	for range 4 { // more than the limit of other users
		require.Equal(t, "OK", decision(t, w.addrs["8083"], "shop", "user=partner-ann"))
	}
	conn := dial(t, w.addrs["8083"])
	health := healthv1.NewHealthClient(conn)
	response, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, response.GetStatus(), "health of the service")
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)
	w.stop() // while a client watches the health
	require.NotEqual(t, connectivity.Shutdown, conn.GetState(), "the client must not have closed the connection")
}

func TestManifestLaunchExample(t *testing.T) {
	t.Parallel()
	// The example prompts again after a value that begins with a dash, and passes a value with spaces
	// as one argument.
	s := runWithInput(t, 0, "-x\nhunter2\nAnn; reboot\ny\n", "manifest-launch")
	require.Regexp(t, `(?m)^  \S*/manifest-launch greeter --tone warm 'Ann; reboot'\n`, s.out)
	require.Contains(t, s.out, "\n  GREETER_KEY='***'\n")
	require.Contains(t, s.out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	require.Contains(t, s.errs, `the arguments are ["--tone" "warm" "Ann; reboot"], the key has 7 letters`)
	require.NotContains(t, s.out+s.errs, "hunter2")

	for why, responses := range map[string]string{"no": "Ann\nhunter2\nn\n", "no confirmation": "Ann\nhunter2\n", "no input": ""} {
		s := runWithInput(t, 0, responses, "manifest-launch")
		require.Contains(t, s.out, "\nnothing was started\n", why)
		require.Empty(t, s.errs, why)
	}
	for file, want := range map[string]string{
		broken:                                   `(?m)^manifest-launch: 4:14: /version: `,
		"nowhere.json":                           `^manifest-launch: open nowhere\.json: `,
		"manifest/testdata/examples/remote.json": `^manifest-launch: the manifest has no packages\n`,
	} {
		require.Regexp(t, want, runWithInput(t, 1, "", "manifest-launch", file).errs)
	}

	// The suggested command would run npx, so it is not confirmed here.
	next := regexp.MustCompile(`(?m)^  go run \./examples/manifest-launch (\S+)$`).FindStringSubmatch(s.out)
	require.NotNil(t, next)
	require.Contains(t, runWithInput(t, 0, "Rome\nwk-123\nn\n", "manifest-launch", next[1]).out, "\n  npx -y @example/weather@1.4.2 serve --units metric Rome\n")
}

func TestManifestUploadExample(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./examples/manifest-upload")
	w.waitFor(w.stdout, `\n\n$`)
	lines := regexp.MustCompile(`(?m)^  (curl .*)$`).FindAllStringSubmatch(w.stdout.String(), -1)
	require.Len(t, lines, 2)
	for i, want := range []string{`^HTTP/1\.1 200 `, `(?s)^HTTP/1\.1 422 .*"column":\d+`} {
		if out, ok := shell(t, lines[i][1]); ok {
			require.Regexp(t, want, out, lines[i][1])
		}
	}
	code, response := httpDo(t, http.MethodPost, "http://"+w.addrs["8084"]+"/manifests", "{\n\"name\": ")
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, response, `"line":2,"column":9`)
	w.stop()
	require.Empty(t, w.stderr.String())
}
