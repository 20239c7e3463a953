package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

const twoUnits = `domain: d
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: burst
    rate_limit: {unit: second, requests_per_unit: 1000}
`

// Counters are in Redis, those of per-second limits in a second one (REFERENCE.md, 6.4).
func TestTwoKeyValueStores(t *testing.T) {
	first, second := redistest.Start(t, &redistest.Options{Password: "hunter2"}), redistest.Start(t, nil)
	r := prepare(t, map[string]string{"d.yaml": twoUnits}, map[string]string{
		"REDIS_SOCKET_TYPE": "unix", "REDIS_URL": first.Socket, "REDIS_AUTH": "hunter2",
		"REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": second.Addr, "REDIS_PERSECOND_SOCKET_TYPE": "tcp",
		"CACHE_KEY_PREFIX":              "p:",
		"EXPIRATION_JITTER_MAX_SECONDS": "31536000", // so that a key of one second can be looked at
	}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	request := ask("d", "x")
	request.Descriptors = append(request.Descriptors, ask("d", "x").GetDescriptors()...)
	request.Descriptors[1].Entries[0].Key = "burst"
	_, err := client.ShouldRateLimit(t.Context(), request)
	require.NoError(t, err)

	keys := func(s *redistest.Server) []string {
		list, err := s.Client().Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		return list
	}
	require.Len(t, keys(first), 1)
	require.Regexp(t, `^p:d_client_x_\d+$`, keys(first)[0])
	require.Len(t, keys(second), 1)
	require.Regexp(t, `^p:d_burst_x_\d+$`, keys(second)[0])
	_, page := r.getAt(r.addr.Debug, "/stats")
	for _, name := range []string{"redis_pool.cx_active", "redis_pool.cx_total", "redis_per_second_pool.cx_active", "redis_per_second_pool.cx_total"} {
		require.Regexp(t, "ratelimit."+name+": [12]\n", page, "one for calls, and one that asks for the time meanwhile")
	}
	require.NotContains(t, r.log.String(), "hunter2", "no password in the log")
	r.end()
}

// With calendar months, two instances count in one key, which ends in the Unix time of the first of the month in UTC, as
// that of the reference service does. The answer is reset when the next month begins.
func TestCalendarMonths(t *testing.T) {
	redis := redistest.Start(t, nil)
	monthly := "domain: d\ndescriptors:\n  - key: client\n    rate_limit: {unit: month, requests_per_unit: 2}\n"
	environ := map[string]string{"USE_CALENDAR_MONTH_RATE_LIMIT": "true", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": redis.Addr}
	var left []uint32
	now := time.Now().UTC()
	for range 2 {
		r := prepare(t, map[string]string{"d.yaml": monthly}, environ).start()
		out, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "x"))
		require.NoError(t, err)
		left = append(left, out.GetStatuses()[0].GetLimitRemaining())
		require.InDelta(t, time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now).Seconds(),
			out.GetStatuses()[0].GetDurationUntilReset().AsDuration().Seconds(), 60)
		r.end()
	}
	require.Equal(t, []uint32{1, 0}, left)
	keys, err := redis.Client().Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).Unix()
	require.Equal(t, []string{fmt.Sprintf("d_client_x_%d", first)}, keys)
}

// The address of a store may be a URL with a password and a database.
func TestKeyValueStoreURL(t *testing.T) {
	redis := redistest.Start(t, &redistest.Options{Password: "hunter2", Args: []string{"--databases", "8"}})
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REDIS_URL": "redis://:hunter2@" + redis.Addr + "/5", "REDIS_SOCKET_TYPE": "tcp4",
	}).start()
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "x"))
	require.NoError(t, err)
	keyspace, err := redis.Client().Info(t.Context(), "keyspace").Result()
	require.NoError(t, err)
	require.Contains(t, keyspace, "db5:keys=1")
	require.NotContains(t, keyspace, "db0")
	require.NotContains(t, r.log.String(), "hunter2")
	r.end()
}

// A server waits for its store before it listens.
func TestWaitsForStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, nil)
	redis.Freeze()
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REDIS_URL": redis.Addr, "REDIS_TIMEOUT": "50ms", "REDIS_STARTUP_INITIAL_INTERVAL": "10ms", "REDIS_STARTUP_MAX_INTERVAL": "20ms",
	}).run()
	r.becomes("the configuration is loaded", func() bool { return r.count(loadSuccess) > 0 })
	require.Nil(t, r.srv.Addresses().GRPC)
	redis.Thaw()
	r.await()
	require.True(t, r.healthy())
	r.end()

	gone := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REDIS_URL": "127.0.0.1:1", "REDIS_STARTUP_INITIAL_INTERVAL": "1ms", "REDIS_STARTUP_MAX_INTERVAL": "2ms", "REDIS_STARTUP_MAX_ELAPSED_TIME": "20ms",
	})
	require.ErrorContains(t, gone.fail(), "127.0.0.1:1")

	redis.Freeze() // so that time is up before there is an error with an address
	silent := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REDIS_URL": redis.Addr, "REDIS_TIMEOUT": "500ms", "REDIS_STARTUP_MAX_ELAPSED_TIME": "20ms",
	})
	require.ErrorContains(t, silent.fail(), redis.Addr)
}

// Health depends on connections (REFERENCE.md, 8.3): without a connection the
// counter store is unhealthy, if the setting is true. Calls fail with the reason.
func TestHealthOfCounterStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, nil)
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REDIS_URL": redis.Addr, "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION": "true",
	}).start()
	require.True(t, r.healthy())
	redis.Kill()
	status500 := func() bool {
		code, _ := r.get("/healthcheck")
		return code == 500
	}
	r.becomes("it is unhealthy", status500)
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "a"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.EqualValues(t, 1, r.count("ratelimit.service.call.should_rate_limit.redis_error"))
	redis.Restart()
	r.becomes("it is healthy again", func() bool { return !status500() })
	_, err = ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "a"))
	require.NoError(t, err)
	r.end()
}

// Without the setting, calls fail while the store is down, and the server stays healthy.
func TestStoreIsNoComponentByDefault(t *testing.T) {
	redis := redistest.Start(t, nil)
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"REDIS_URL": redis.Addr, "REDIS_TIMEOUT": "200ms"}).start()
	redis.Kill()
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "a"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.True(t, r.healthy())
	r.end()
}

func TestStoreGroups(t *testing.T) {
	for name, environ := range map[string]map[string]string{
		"no such master": {"REDIS_TYPE": "SENTINEL", "REDIS_URL": "master,127.0.0.1:1"},
		"no such node":   {"REDIS_TYPE": "CLUSTER", "REDIS_URL": "127.0.0.1:1,127.0.0.1:2"},
	} {
		environ["REDIS_STARTUP_INITIAL_INTERVAL"], environ["REDIS_STARTUP_MAX_INTERVAL"], environ["REDIS_STARTUP_MAX_ELAPSED_TIME"] = "1ms", "2ms", "20ms"
		err := prepare(t, map[string]string{"d.yaml": goodConfig}, environ).fail()
		require.ErrorContains(t, err, "127.0.0.1:1", name)
	}
}

func TestStoreTLS(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REDIS_URL": "127.0.0.1:6379", "REDIS_TLS": "true", "REDIS_TLS_CACERT": "/does/not/exist.pem",
	})
	_, err := server.New(t.Context(), r.set, nil)
	require.ErrorContains(t, err, "/does/not/exist.pem")
	require.ErrorContains(t, err, "KVSTORE_")
}

// An instance claims hits ahead for rules with a lease, or for all, and says so in its statistics.
func TestLeases(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, nil)
	config := func(lease bool) string {
		return fmt.Sprintf("domain: d\ndescriptors: [{key: client, rate_limit: {unit: year, requests_per_unit: 1000000, lease: %t}}]\n", lease)
	}
	for _, c := range []struct {
		leases, prefix string
		rule, leased   bool
	}{{"rules", "p:", true, true}, {"rules", "q:", false, false}, {"all", "r:", false, true}, {"off", "s:", true, false}} {
		r := prepare(t, map[string]string{"d.yaml": config(c.rule)}, map[string]string{
			"REDIS_URL": redis.Addr, "REDIS_SOCKET_TYPE": "tcp", "LEASES": c.leases, "CACHE_KEY_PREFIX": c.prefix,
		}).start()
		client := ratelimitv3.NewRateLimitServiceClient(r.dial())
		request := ask("d", "x")
		for range 99 { // that many in quick succession, however slow the machine
			request.Descriptors = append(request.Descriptors, request.GetDescriptors()[0])
		}
		for range 10 {
			response, err := client.ShouldRateLimit(t.Context(), request)
			require.NoError(t, err)
			for _, s := range response.GetStatuses() {
				require.GreaterOrEqual(t, s.GetLimitRemaining(), uint32(1000000-1000))
				require.Less(t, s.GetLimitRemaining(), uint32(1000000))
			}
		}
		_, page := r.getAt(r.addr.Debug, "/stats")
		require.Equal(t, c.leased, strings.Contains(page, "ratelimit.leases.claims: "), page)
		r.end()
		keys, err := redis.Client().Keys(t.Context(), c.prefix+"*").Result()
		require.NoError(t, err)
		require.Len(t, keys, 1)
		count, err := redis.Client().Get(t.Context(), keys[0]).Int()
		require.NoError(t, err)
		require.GreaterOrEqual(t, count, 1000)
	}
}
