package xds_test

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"localhost:18000", "127.0.0.1:1", "[::1]:18000", "dns:///config.internal:18000", "unix:/run/config.sock", "unix:///run/config.sock",
	} {
		_, err := xds.New(target, nil)
		require.NoError(t, err, target)
	}
	for _, target := range []string{
		"", "localhost", ":18000", "localhost:", "localhost:0", "localhost:70000", "localhost:grpc", "::1", "http://localhost:18000", "localhost:18000/path",
	} {
		c, err := xds.New(target, nil)
		require.ErrorContains(t, err, "server address")
		require.Nil(t, c)
	}
}

// All invalid options are reported at once, without the values of headers.
func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	_, err := xds.New("localhost", &xds.Options{
		NodeID:       "\xff",
		NodeMetadata: map[string]string{"zone": "\xff"},
		Headers: []xds.Header{
			{Name: "", Value: "secret"},
			{Name: "x y", Value: "secret"},
			{Name: "Content-Type", Value: "secret"},
			{Name: "grpc-timeout", Value: "secret"},
			{Name: ":path", Value: "secret"},
			{Name: "x-token", Value: "secret\n"},
			{Name: "x-token", Value: "ßecret"},
			{Name: "fine", Value: "printable ~"},
		},
		MaxMessageBytes: -1,
		RetryInterval:   -time.Second,
		Backoff:         xds.Backoff{Initial: -1, Max: -1, Factor: -0.5},
	})
	lines := strings.Split(err.Error(), "\n")
	want := []string{
		"server address",
		"Options.RetryInterval ",
		"Options.Backoff.Initial ",
		"Options.Backoff.Max ",
		"Options.MaxMessageBytes ",
		"Options.Backoff.Factor ",
		"Options.NodeID ",
		"Options.NodeMetadata ",
		"Options.Headers[0] ",
		"Options.Headers[1] ",
		"Options.Headers[2] ",
		"Options.Headers[3] ",
		"Options.Headers[4] ",
		"Options.Headers[5] ",
		"Options.Headers[6] ",
	}
	require.Len(t, lines, len(want))
	for i := range want {
		require.Contains(t, lines[i], want[i])
	}
	for i, reason := range []string{"empty", "letters", "reserves", "reserves", "letters", "printable", "printable"} {
		require.Contains(t, lines[len(want)-7+i], reason)
	}
	for _, factor := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := xds.New("localhost:1", &xds.Options{Backoff: xds.Backoff{Factor: factor}})
		require.ErrorContains(t, err, "Backoff.Factor")
	}
}

func TestHeaderValuesAreNotShown(t *testing.T) {
	t.Parallel()
	opts := &xds.Options{Headers: []xds.Header{{Name: "x-token", Value: "secret"}}}
	log := new(logtest.Log)
	slog.New(slog.NewJSONHandler(log, nil)).Info("m", "header", opts.Headers[0])
	for _, text := range []string{fmt.Sprintf("%v", opts.Headers), fmt.Sprintf("%+v", *opts), log.String()} {
		require.Contains(t, text, "x-token: ***")
		require.NotContains(t, text, "secret")
	}
}

// Errors are logged only if there is no function for failures.
func TestLog(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo", bad("user")))
	addr, stop := server.serve("127.0.0.1:0")
	opts := quick()
	opts.Headers = []xds.Header{{Name: "x-token", Value: "secret"}}
	used, log := new(logtest.Log), new(logtest.Log)

	opts.Log = used.Logger()
	r := start(t, addr, opts)
	rejection(t, r)

	opts.Log = log.Logger()
	runWithoutFailed(t, addr, opts)
	require.Eventually(t, func() bool { return contains(log, "mongo: descriptors[0].rate_limit.unit") }, timeout, time.Millisecond)
	stop()
	require.Eventually(t, func() bool { return contains(log, "next attempt in") }, timeout, time.Millisecond)
	connectionFailure(t, r)

	for _, l := range []*logtest.Log{used, log} {
		require.Contains(t, l.String(), "connected to the configuration server")
		require.Contains(t, l.String(), addr)
		require.NotContains(t, l.String(), "secret")
	}
	require.NotContains(t, used.String(), "mongo")
}
