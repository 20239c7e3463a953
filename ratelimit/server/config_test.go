package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// write replaces a configuration file atomically: it renames a new file from a directory
// that the server does not read.
func (r *running) write(name, data string) {
	r.t.Helper()
	made := filepath.Join(r.root, name)
	require.NoError(r.t, os.WriteFile(made, []byte(data), 0o644))
	require.NoError(r.t, os.Rename(made, filepath.Join(r.root, "sub", "config", name)))
}

// count returns the value of a counter.
func (r *running) count(name string) uint64 { return r.srv.Statistics().Snapshot().Counters[name] }

// gauge returns the value of a gauge.
func (r *running) gauge(name string) uint64 { return r.srv.Statistics().Snapshot().Gauges[name] }

// becomes waits until a condition holds.
func (r *running) becomes(what string, holds func() bool) {
	r.t.Helper()
	if !assert.Eventually(r.t, holds, testTimeout, 5*time.Millisecond) {
		r.t.Fatalf("timeout, still not true: %s\n%s", what, r.log)
	}
}

const (
	loadSuccess = "ratelimit.service.config_load_success"
	loadError   = "ratelimit.service.config_load_error"
	loadOK      = "ratelimit.service.config_load_ok"
)

// broken is a configuration with errors in several files.
func broken() map[string]string {
	return map[string]string{
		"a.yaml": "domain: a\ndescriptors:\n  - key: x\n    rate_limit: {unit: fortnight, requests_per_unit: 1}\n  - value: y\n",
		"b.yaml": "domain: a\n",
		"c.yaml": "domain: [\n",
	}
}

// requireFaults checks that the log has all errors of broken.
func (r *running) requireFaults() {
	r.t.Helper()
	for _, want := range []string{
		"a.yaml:4:", "invalid rate limit unit 'fortnight'", "a.yaml:5:", "descriptor has empty key",
		"b.yaml:1:", "duplicate domain 'a' in config file", "c.yaml:", "error loading config file",
	} {
		require.Contains(r.t, r.log.String(), want)
	}
}

// Without a valid configuration the decision listeners stay closed (REFERENCE.md, 8.3), while
// the debug port shows the errors.
func TestWaitsForConfiguration(t *testing.T) {
	r := prepare(t, broken(), nil).run()
	r.becomes("the error is counted", func() bool { return r.count(loadError) > 0 })
	r.requireFaults()
	require.Nil(t, r.srv.Addresses().GRPC)
	require.Nil(t, r.srv.Addresses().HTTP)
	_, page := r.getAt(r.srv.Addresses().Debug, "/stats?filter=config_load")
	require.Contains(t, page, loadSuccess+": 0\n")
	require.Contains(t, page, loadOK+": 0\n")
	_, page = r.getAt(r.srv.Addresses().Debug, "/rlconfig")
	require.Empty(t, page)

	r.write("b.yaml", "domain: b\n")
	r.write("c.yaml", "domain: c\n")
	r.write("a.yaml", goodConfig)
	r.await()
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "x"))
	require.NoError(t, err)
	r.end()
}

// A server that still waits for its configuration ends immediately.
func TestEndWhileWaiting(t *testing.T) {
	r := prepare(t, nil, nil).run()
	r.becomes("the missing directory is counted", func() bool { return r.count(loadError) > 0 })
	require.Contains(t, r.log.String(), filepath.Join(r.root, "sub", "config"))
	require.Contains(t, r.log.String(), "RUNTIME_ROOT")
	require.EqualValues(t, 1, r.count("runtime.load_failures"))
	r.end()
}

func TestForcedStart(t *testing.T) {
	r := prepare(t, broken(), map[string]string{"FORCE_START_WITHOUT_INITIAL_CONFIG": "true"}).start()
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("a", "b"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, "no rate limit configuration loaded", status.Convert(err).Message())
	require.EqualValues(t, 1, r.count("ratelimit.service.call.should_rate_limit.service_error"))
	r.becomes("the error is counted", func() bool { return r.count(loadError) > 0 })
	r.requireFaults()
	r.end()
}

// Configuration changes take effect without a restart; an invalid one changes nothing.
func TestReload(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	_, page := r.getAt(r.addr.Debug, "/rlconfig")
	require.Equal(t, "d.client: unit=YEAR requests_per_unit=2, shadow_mode: false, quota_mode: false\n", page)

	r.write("d.yaml", "domain: d\ndescriptors: [{key: client, rate_limit: {unit: hour, requests_per_unit: 7}}]\n")
	const changed = "d.client: unit=HOUR requests_per_unit=7, shadow_mode: false, quota_mode: false\n"
	shows := func() bool {
		_, page := r.getAt(r.addr.Debug, "/rlconfig")
		return page == changed
	}
	r.becomes("the new limit is shown", shows)
	r.becomes("config_load_ok is 1 after a successful load", func() bool { return r.gauge(loadOK) == 1 })
	out, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "x"))
	require.NoError(t, err)
	require.EqualValues(t, 7, out.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())

	before := r.count(loadError)
	r.write("d.yaml", "domain: d\ndescriptors: [{key: client, rate_limit: {unit: eon}}]\n")
	r.becomes("the broken file is counted", func() bool { return r.count(loadError) > before })
	require.Contains(t, r.log.String(), "invalid rate limit unit 'eon'")
	require.True(t, shows(), "the previous configuration stays active")
	r.becomes("config_load_ok is 0 after a failed load", func() bool { return r.gauge(loadOK) == 0 })
	require.GreaterOrEqual(t, r.count(loadSuccess), uint64(2))
	r.becomes("each attempt is a success or an error", func() bool { // except one in progress
		counts := r.srv.Statistics().Snapshot().Counters
		return counts["runtime.load_attempts"] == counts[loadSuccess]+counts[loadError]
	})

	r.write("d.yaml", goodConfig)
	r.becomes("config_load_ok is 1 after the file is fixed", func() bool { return r.gauge(loadOK) == 1 })
	r.end()
}

// addOnly hides everything but Add of a store.
type addOnly struct{ ratelimit.Store }

// A limit that the store can't hold is refused like any other fault.
func TestLimitThatTheStoreCantHold(t *testing.T) {
	const bucket = "domain: d\ndescriptors: [{key: client, rate_limit: {unit: hour, requests_per_unit: 7, algorithm: token_bucket}}]\n"
	const reason = "domain 'd', rule client: token_bucket: the counter store (server_test.addOnly) can't hold limits of other algorithms than fixed_window"
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil)
	r.store = addOnly{memstore.MustNew(nil)}
	r.start()
	before := r.count(loadError)
	r.write("d.yaml", bucket)
	r.becomes("the error is counted", func() bool { return r.count(loadError) > before })
	require.Contains(t, r.log.String(), reason)
	_, page := r.getAt(r.addr.Debug, "/rlconfig")
	require.Equal(t, "d.client: unit=YEAR requests_per_unit=2, shadow_mode: false, quota_mode: false\n", page)
	r.becomes("each attempt is a success or an error", func() bool {
		counts := r.srv.Statistics().Snapshot().Counters
		return counts["runtime.load_attempts"] == counts[loadSuccess]+counts[loadError]
	})
	r.end()

	_, err := server.New(t.Context(), r.set, &server.Options{
		Store: r.store, Files: []config.File{{Name: "d.yaml", Data: []byte(bucket)}},
	})
	require.ErrorContains(t, err, "invalid configuration:\n"+reason)
}

// A file that is no YAML by its name does not spoil the configuration, and is named in the log, whatever its level.
func TestOtherFilesArePassedOver(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig, "README": "see d.yaml"}, map[string]string{"LOG_LEVEL": "error"}).start()
	r.becomes("the log names the file", func() bool { return strings.Contains(r.log.String(), "[README]") })
	require.Contains(t, r.log.String(), "level=ERROR")
	require.EqualValues(t, 1, r.count(loadSuccess))
	r.end()
}

// A directory with files, none of which is read, is like a missing one: the server waits, and is not healthy.
func TestOnlyOtherFiles(t *testing.T) {
	r := prepare(t, map[string]string{"limits": goodConfig}, map[string]string{
		"FORCE_START_WITHOUT_INITIAL_CONFIG": "true", "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED": "true", "LOG_LEVEL": "error",
	}).start()
	r.becomes("the load failed", func() bool { return r.count(loadError) > 0 })
	require.False(t, r.healthy())
	require.Contains(t, r.log.String(), "limits")
	require.Zero(t, r.count(loadSuccess))
	r.write("d.yaml", goodConfig)
	r.becomes("the new file is loaded", func() bool { return r.count(loadSuccess) > 0 })
	require.True(t, r.healthy())
	r.end()
}

// A root that can't be swapped while only swaps are watched is a mistake of many deployments on Kubernetes.
func TestRootThatIsNoLink(t *testing.T) {
	for _, watch := range []string{"true", "false"} {
		r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"RUNTIME_WATCH_ROOT": watch}).start()
		require.Equal(t, watch == "true", strings.Contains(r.log.String(), "RUNTIME_WATCH_ROOT=false"), r.log)
		r.end()
	}
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"RUNTIME_WATCH_ROOT": "true"})
	link := filepath.Join(t.TempDir(), "current")
	require.NoError(t, os.Symlink(r.set.RuntimeRoot, link))
	r.set.RuntimeRoot = link
	r.start()
	require.NotContains(t, r.log.String(), "RUNTIME_WATCH_ROOT")
	r.end()

	// A ConfigMap below the link is not swapped with it.
	require.NoError(t, os.Symlink(".", filepath.Join(r.root, "sub", "config", "..data")))
	r.start()
	require.Contains(t, r.log.String(), "RUNTIME_WATCH_ROOT=false")
	r.end()
}
