package settings_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// refused parses an environment with errors. Each line of them begins with a
// variable that the environment has.
func refused(t *testing.T, environ map[string]string) []string {
	t.Helper()
	s, err := settings.Parse(environ)
	require.Error(t, err, "%v", environ)
	require.Nil(t, s)
	lines := strings.Split(err.Error(), "\n")
	for _, line := range lines {
		names, _, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		for name := range strings.SplitSeq(names, ", ") {
			require.Contains(t, environ, name, "an error about a variable that is not there: %s", line)
		}
	}
	return lines
}

// settingName matches a name of a setting in a message.
var settingName = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b|\b(PORT|HOST)\b`)

// requireNames checks that the settings that a message names begin with those of want.
func requireNames(t *testing.T, want, message string) {
	t.Helper()
	require.NotEmpty(t, want)
	require.True(t, strings.HasPrefix(strings.Join(settingName.FindAllString(message, -1), " ")+" ", want+" "), "%s: %s", want, message)
}

func parse(t *testing.T, environ map[string]string) *settings.Settings {
	t.Helper()
	s, err := settings.Parse(environ)
	require.NoError(t, err)
	return s
}

func TestParse(t *testing.T) {
	s := parse(t, map[string]string{
		"PORT": "0", "GRPC_PORT": "9081", "SHADOW_MODE": "true", "QUOTA_MODE": "1", "NEAR_LIMIT_RATIO": "0",
		"SHUTDOWN_DRAIN_DELAY": "1500ms", "RUNTIME_ROOT": "/etc/limits", "LOCAL_CACHE_SIZE_IN_BYTES": "0x100000",
		"EXPIRATION_JITTER_MAX_SECONDS": "-1", "KVSTORE_PERSECOND_TIMEOUT": "150us", "SOMETHING_ELSE": "x",
	})
	require.Zero(t, s.Port)
	require.Equal(t, 9081, s.GRPCPort)
	require.True(t, s.ShadowMode)
	require.True(t, s.QuotaMode)
	require.Zero(t, s.NearLimitRatio)
	require.Equal(t, 1500*time.Millisecond, s.ShutdownDrainDelay)
	require.Equal(t, "/etc/limits", s.RuntimeRoot)
	require.Equal(t, 1<<20, s.LocalCacheSize)
	require.EqualValues(t, -1, s.ExpirationJitter)
	require.Equal(t, 150*time.Microsecond, s.KVStorePerSecond.Timeout)
	require.Equal(t, 10*time.Second, s.KVStore.Timeout)
}

func TestProcessEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("PORT", "not a number")
	require.NotEmpty(t, os.Getenv("PORT"))
	parse(t, nil)
}

// Keywords are accepted in any case and by their synonyms.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		got         func(*settings.Settings) string
		want        string
	}{
		{"LOG_LEVEL", "debug", func(s *settings.Settings) string { return s.LogLevel }, "DEBUG"},
		{"LOG_LEVEL", "warning", func(s *settings.Settings) string { return s.LogLevel }, "WARN"},
		{"LOG_LEVEL", "Trace", func(s *settings.Settings) string { return s.LogLevel }, "DEBUG"},
		{"LOG_LEVEL", "fatal", func(s *settings.Settings) string { return s.LogLevel }, "ERROR"},
		{"LOG_FORMAT", "JSON", func(s *settings.Settings) string { return s.LogFormat }, "json"},
		{"CONFIG_TYPE", "file", func(s *settings.Settings) string { return s.ConfigType }, settings.File},
		{"CONFIG_TYPE", "grpc_xds_sotw", func(s *settings.Settings) string { return s.ConfigType }, settings.GRPCXDSSOTW},
		{"STATSD_PROTOCOL", "UDP", func(s *settings.Settings) string { return s.PushStatsProtocol }, "udp"},
		{"REDIS_TYPE", "SENTINEL", func(s *settings.Settings) string { return s.KVStore.Type }, settings.Sentinel},
		{"REDIS_PERSECOND_TYPE", "Cluster", func(s *settings.Settings) string { return s.KVStorePerSecond.Type }, settings.Cluster},
		{"REDIS_POOL_ON_EMPTY_BEHAVIOR", "wait", func(s *settings.Settings) string { return s.KVStore.PoolOnEmpty }, settings.PoolWait},
		{"KVSTORE_POOL_ON_EMPTY_BEHAVIOR", "Error", func(s *settings.Settings) string { return s.KVStore.PoolOnEmpty }, settings.PoolError},
		{"TRACING_EXPORTER_PROTOCOL", "gRPC", func(s *settings.Settings) string { return s.Tracing.Protocol }, "grpc"},
	} {
		require.Equal(t, tt.want, tt.got(parse(t, map[string]string{tt.name: tt.value})), "%s=%s", tt.name, tt.value)
	}
}

// An empty value counts as unset, except for the few that may be empty.
func TestEmptyValues(t *testing.T) {
	environ := map[string]string{}
	for _, v := range settings.Table() {
		environ[v.Name] = ""
		for _, alias := range v.Aliases {
			environ[alias] = ""
		}
	}
	want := settings.Default()
	want.Host, want.DebugHost, want.GRPCHost, want.RuntimeAppDirectory = "", "", "", ""
	require.Equal(t, want, parse(t, environ))
	require.Equal(t, 9000, parse(t, map[string]string{"PUSHSTATS_PORT": "", "STATSD_PORT": "9000"}).PushStatsPort)
}

// Every invalid value is reported with its variable, all in one error.
func TestAllBadValuesAtOnce(t *testing.T) {
	environ := map[string]string{
		"PORT": "http", "SHADOW_MODE": "perhaps", "SHUTDOWN_TIMEOUT": "30", "NEAR_LIMIT_RATIO": "most",
		"GRPC_PORT": "-1", "REDIS_POOL_SIZE": "0", "BACKEND_TYPE": "sqlite", "EXTRA_TAGS": "x", "LIMIT_LIMIT_HEADER": "a b",
		"MEMCACHE_SRV": "memcache.example.com", "SCRAPE_ADDR": "9090",
	}
	require.Len(t, refused(t, environ), len(environ), "one line for each bad variable")
}

func TestBadValues(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tt := range []struct{ name, value, want string }{
		{"PORT", "http", `"http" is not a whole number`},
		{"PORT", "70000", `"70000" is out of range`},
		{"PORT", "99999999999999999999", `is out of range`},
		{"DEBUG_PORT", "-1", "from 0 to 65535"},
		{"PUSHSTATS_PORT", "0", "from 1 to 65535"},
		{"HOST", "localhost:8080", "the port is a separate setting"},
		{"GRPC_HOST", "[::1]", "without port and brackets"},
		{"DEBUG_HOST", "a b", "is not a host"},
		{"GRPC_UDS", "/" + long, "use at most 107 bytes"},
		{"GRPC_MAX_CONNECTION_AGE", "-1s", `"-1s" is out of range`},
		{"GRPC_MAX_CONNECTION_AGE_GRACE", "-1ns", "of at least 0s"},
		{"GRPC_MAX_CONNECTION_AGE", "1 hour", "is not a duration"},
		{"GRPC_MAX_CONCURRENT_STREAMS", "4294967295", "from 0 to 4294967294"},
		{"REQUEST_TIMEOUT", "-1s", "of at least 0s"},
		{"MAX_CONCURRENT_REQUESTS", "-1", "from 0"},
		{"REDIS_OP_TIMEOUT", "-1s", "of at least 0s"},
		{"LIMIT_REQUEST_RESET_HEADER", "a b", "is not a header name"},
		{"SHADOW_MODE", "perhaps", "use true or false"},
		{"LOG_LEVEL", "LOUD", "use DEBUG, INFO, WARN or ERROR"},
		{"LOG_FORMAT", "xml", "use text or json"},
		{"CONFIG_TYPE", "ETCD", "use FILE or GRPC_XDS_SOTW"},
		{"CONFIG_GRPC_XDS_SERVER_URL", "http://localhost:18000", "is a URL: use host:port"},
		{"CONFIG_GRPC_XDS_SERVER_URL", "localhost", "is not an address"},
		{"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", "-3s", "of at least 0s"},
		{"CONFIG_GRPC_XDS_NODE_METADATA", "a:b", "use name=value"},
		{"CONFIG_GRPC_XDS_NODE_METADATA", "a=b,a=c", "item 2 has a duplicate name"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "authorization", "use name:value"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "a:b,:c", "item 2 has no name"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "<a:b", `begins with "<" and has no ">"`},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "<a:b>c", `continues after its ">"`},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "a b:c", "header name"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "grpc-timeout:c", "reserves"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "content-type:c", "reserves"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "a:\x00", "printable"},
		{"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "0", "use a duration above 0s"},
		{"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", "0", "use a number above 0, up to 100"},
		{"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", "Inf", "up to 100"},
		{"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", "NaN", "is out of range"},
		{"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "-1", "from 0 to 2147483647"},
		{"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "2147483648", "from 0 to 2147483647"},
		{"STATS_FLUSH_INTERVAL", "0s", "above 0s"},
		{"EXTRA_TAGS", "region", "use name:value"},
		{"EXTRA_TAGS", "region:", "item 1 has no value"},
		{"EXTRA_TAGS", "a:b,", "item 2 has no name"},
		{"EXTRA_TAGS", "a:b,a:c", "item 2 has a duplicate name"},
		{"EXTRA_TAGS", "a=b:c", "a character that tags can't have"},
		{"STATSD_PROTOCOL", "sctp", "use tcp or udp"},
		{"STATSD_HOST", "tcp://statsd", "is not a host"},
		{"SCRAPE_ADDR", "9090", "use host:port or :port"},
		{"SCRAPE_ADDR", ":http", "with a port from 0 to 65535"},
		{"PROMETHEUS_PATH", "metrics", "use one that begins with /"},
		{"PROMETHEUS_PATH", "/a{b}", "is not a path"},
		{"EXPIRATION_JITTER_MAX_SECONDS", "9223372036", "of at most 31536000"},
		{"NEAR_LIMIT_RATIO", "1.5", "use a number from 0 to 1"},
		{"NEAR_LIMIT_RATIO", "NaN", "is out of range"},
		{"NEAR_LIMIT_RATIO", "-0.1", "from 0 to 1"},
		{"LOCAL_CACHE_SIZE_IN_BYTES", "-1", "of at least 0"},
		{"LocalCacheSizeInBytes", "-1", "of at least 0"},
		{"LIMIT_LIMIT_HEADER", "a b", "is not a header name"},
		{"LIMIT_REMAINING_HEADER", "Rest:", "is not a header name"},
		{"LIMIT_RESET_HEADER", "Zurück", "is not a header name"},
		{"BACKEND_TYPE", "sqlite", "use embedded, kvstore or memstore"},
		{"EMBEDDED_MAX_BYTES", "10", "of at least 1048576"},
		{"KVSTORE_TYPE", "ring", "use single, sentinel or cluster"},
		{"REDIS_SOCKET_TYPE", "udp", "use tcp, tcp4, tcp6 or unix"},
		{"REDIS_POOL_SIZE", "0", "of at least 1"},
		{"KVSTORE_PERSECOND_POOL_SIZE", "-5", "of at least 1"},
		{"REDIS_TIMEOUT", "0", "above 0s"},
		{"REDIS_TIMEOUT", "-1s", "above 0s"},
		{"REDIS_PIPELINE_WINDOW", "-1us", "of at least 0s"},
		{"REDIS_CLUSTER_PIPELINE_PARALLELISM", "-1", "of at least 0"},
		{"REDIS_POOL_ON_EMPTY_BEHAVIOR", "PANIC", "use CREATE, ERROR or WAIT"},
		{"REDIS_POOL_ON_EMPTY_WAIT_DURATION", "-1s", "of at least 0s"},
		{"REDIS_STARTUP_INITIAL_INTERVAL", "0", "above 0s"},
		{"REDIS_STARTUP_MAX_ELAPSED_TIME", "-1s", "of at least 0s"},
		{"MEMCACHE_HOST_PORT", "cache-1:11211,cache-2", `"cache-2" is not an address`},
		{"MEMCACHE_HOST_PORT", "cache-1:0", "with a port from 1 to 65535"},
		{"MEMCACHE_MAX_IDLE_CONNS", "-1", "of at least 0"},
		{"MEMCACHE_SRV", "memcache.example.com", "use _service._proto.name"},
		{"MEMCACHE_SRV_REFRESH", "-1s", "of at least 0s"},
		{"TRACING_EXPORTER_PROTOCOL", "udp", "use http or grpc"},
		{"TRACING_SAMPLING_RATE", "1.01", "from 0 to 1"},
		{"TRACING_SAMPLING_RATE", "NaN", "from 0 to 1"},
		{"SHUTDOWN_DRAIN_DELAY", "-1s", "of at least 0s"},
		{"SHUTDOWN_TIMEOUT", "0s", "above 0s"},
	} {
		lines := refused(t, map[string]string{tt.name: tt.value})
		require.Len(t, lines, 1, "%s=%s", tt.name, tt.value)
		require.Contains(t, lines[0], tt.name+": ")
		require.Contains(t, lines[0], tt.want)
		require.Less(t, len(lines[0]), 300)
	}
}

// A Kubernetes service named statsd causes this.
func TestValueOfKubernetes(t *testing.T) {
	lines := refused(t, map[string]string{"STATSD_PORT": "tcp://10.0.0.1:8125"})
	require.Len(t, lines, 1)
	for _, word := range []string{"STATSD_PORT: ", "65535", "Kubernetes", "named statsd", "enableServiceLinks: false"} {
		require.Contains(t, lines[0], word)
	}
	lines = refused(t, map[string]string{"STATSD_PORT": "tcp://10.0.0.1:8125", "PUSHSTATS_PORT": "8125"})
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "enableServiceLinks: false")
	require.NotContains(t, refused(t, map[string]string{"STATSD_PORT": "8125/tcp"})[0], "Kubernetes")
}
