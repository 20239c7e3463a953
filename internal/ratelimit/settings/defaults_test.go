package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	table "github.com/ashlar-go/ashlar/internal/settings"
)

// want lists the settings (REFERENCE.md, 7.5): name, aliases and default. A remark after the
// default explains a difference from the reference service.
const want = `
HOST                                            -                                             0.0.0.0
PORT                                            -                                             8080
DEBUG_HOST                                      -                                             127.0.0.1 not 0.0.0.0: the pages have no authentication
DEBUG_PORT                                      -                                             6070
GRPC_HOST                                       -                                             0.0.0.0
GRPC_PORT                                       -                                             8081
GRPC_UDS                                        -                                             -
GRPC_MAX_CONNECTION_AGE                         -                                             24h
GRPC_MAX_CONNECTION_AGE_GRACE                   -                                             1h
GRPC_SERVER_USE_TLS                             -                                             false
GRPC_SERVER_TLS_CERT                            -                                             -
GRPC_SERVER_TLS_KEY                             -                                             -
GRPC_CLIENT_TLS_CACERT                          -                                             -
GRPC_CLIENT_TLS_SAN                             -                                             -
LOG_LEVEL                                       -                                             WARN
LOG_FORMAT                                      -                                             text
CONFIG_TYPE                                     -                                             FILE
FORCE_START_WITHOUT_INITIAL_CONFIG              -                                             false
CONFIG_GRPC_XDS_NODE_ID                         -                                             default
CONFIG_GRPC_XDS_NODE_METADATA                   -                                             -
CONFIG_GRPC_XDS_SERVER_URL                      -                                             localhost:18000
CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL   -                                             3s
CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS       -                                             -
CONFIG_GRPC_XDS_SERVER_USE_TLS                  -                                             false
CONFIG_GRPC_XDS_CLIENT_TLS_CERT                 -                                             -
CONFIG_GRPC_XDS_CLIENT_TLS_KEY                  -                                             -
CONFIG_GRPC_XDS_SERVER_TLS_CACERT               -                                             -
CONFIG_GRPC_XDS_SERVER_TLS_SAN                  -                                             -
XDS_CLIENT_BACKOFF_INITIAL_INTERVAL             -                                             10s
XDS_CLIENT_BACKOFF_MAX_INTERVAL                 -                                             60s
XDS_CLIENT_BACKOFF_RANDOM_FACTOR                -                                             0.5
XDS_CLIENT_BACKOFF_JITTER                       -                                             true
XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES                -                                             0     unset
USE_AGENTSTATS                                  USE_DOG_STATSD                                false
AGENTSTATS_MOGRIFIERS                           USE_AGENTSTATS_MOGRIFIERS,USE_DOG_STATSD_MOGRIFIERS,DOG_STATSD_MOGRIFIERS -
USE_PUSHSTATS                                   USE_STATSD                                    true
PUSHSTATS_HOST                                  STATSD_HOST                                   localhost
PUSHSTATS_PORT                                  STATSD_PORT                                   8125
PUSHSTATS_PROTOCOL                              STATSD_PROTOCOL                               tcp
EXTRA_TAGS                                      -                                             -
STATS_FLUSH_INTERVAL                            -                                             10s
DISABLE_STATS                                   -                                             false
USE_SCRAPE                                      USE_PROMETHEUS                                false
SCRAPE_ADDR                                     PROMETHEUS_ADDR                               :9090
SCRAPE_PATH                                     PROMETHEUS_PATH                               /metrics
SCRAPE_MAPPER_YAML                              PROMETHEUS_MAPPER_YAML                        -
SCRAPE_RESPONSE_TIME_AS_MILLISECONDS            PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS      false
RUNTIME_ROOT                                    -                                             /srv/runtime_data/current
RUNTIME_SUBDIRECTORY                            -                                             -
RUNTIME_APPDIRECTORY                            -                                             config
RUNTIME_IGNOREDOTFILES                          -                                             false
RUNTIME_WATCH_ROOT                              -                                             true
MERGE_DOMAIN_CONFIG                             -                                             false
EXPIRATION_JITTER_MAX_SECONDS                   -                                             300
LOCAL_CACHE_SIZE_IN_BYTES                       LocalCacheSizeInBytes                         0
NEAR_LIMIT_RATIO                                -                                             0.8
CACHE_KEY_PREFIX                                -                                             -
BACKEND_TYPE                                    -                                             -     by KVSTORE_URL, not redis
STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT         -                                             false
LIMIT_RESPONSE_HEADERS_ENABLED                  -                                             false
LIMIT_LIMIT_HEADER                              -                                             RateLimit-Limit
LIMIT_REMAINING_HEADER                          -                                             RateLimit-Remaining
LIMIT_RESET_HEADER                              -                                             RateLimit-Reset
HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED         -                                             false
KVSTORE_SOCKET_TYPE                             REDIS_SOCKET_TYPE                             -     ours: by the URL, not unix
KVSTORE_TYPE                                    REDIS_TYPE                                    single
KVSTORE_URL                                     REDIS_URL                                     /var/run/nutcracker/ratelimit.sock
KVSTORE_POOL_SIZE                               REDIS_POOL_SIZE                               10
KVSTORE_AUTH                                    REDIS_AUTH                                    -
KVSTORE_AUTH_FILE                               REDIS_AUTH_FILE                               -
KVSTORE_OP_TIMEOUT                              REDIS_OP_TIMEOUT                              0
KVSTORE_TLS                                     REDIS_TLS                                     false
KVSTORE_TLS_CLIENT_CERT                         REDIS_TLS_CLIENT_CERT                         -
KVSTORE_TLS_CLIENT_KEY                          REDIS_TLS_CLIENT_KEY                          -
KVSTORE_TLS_CACERT                              REDIS_TLS_CACERT                              -
KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION          REDIS_TLS_SKIP_HOSTNAME_VERIFICATION          false
KVSTORE_PIPELINE_WINDOW                         REDIS_PIPELINE_WINDOW                         0
KVSTORE_PIPELINE_LIMIT                          REDIS_PIPELINE_LIMIT                          0
KVSTORE_CLUSTER_PIPELINE_PARALLELISM            REDIS_CLUSTER_PIPELINE_PARALLELISM            1
KVSTORE_SENTINEL_AUTH                           REDIS_SENTINEL_AUTH                           -
KVSTORE_TIMEOUT                                 REDIS_TIMEOUT                                 10s
KVSTORE_POOL_ON_EMPTY_BEHAVIOR                  REDIS_POOL_ON_EMPTY_BEHAVIOR                  CREATE not WAIT
KVSTORE_POOL_ON_EMPTY_WAIT_DURATION             REDIS_POOL_ON_EMPTY_WAIT_DURATION             1s    not 0
KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION          REDIS_HEALTH_CHECK_ACTIVE_CONNECTION          false
KVSTORE_STARTUP_INITIAL_INTERVAL                REDIS_STARTUP_INITIAL_INTERVAL                1s
KVSTORE_STARTUP_MAX_INTERVAL                    REDIS_STARTUP_MAX_INTERVAL                    30s
KVSTORE_STARTUP_MAX_ELAPSED_TIME                REDIS_STARTUP_MAX_ELAPSED_TIME                0
KVSTORE_PERSECOND                               REDIS_PERSECOND                               false
KVSTORE_PERSECOND_SOCKET_TYPE                   REDIS_PERSECOND_SOCKET_TYPE                   -     ours: by the URL, not unix
KVSTORE_PERSECOND_TYPE                          REDIS_PERSECOND_TYPE                          single
KVSTORE_PERSECOND_URL                           REDIS_PERSECOND_URL                           -     ours: required, no default socket
KVSTORE_PERSECOND_POOL_SIZE                     REDIS_PERSECOND_POOL_SIZE                     10
KVSTORE_PERSECOND_AUTH                          REDIS_PERSECOND_AUTH                          -
KVSTORE_PERSECOND_AUTH_FILE                     REDIS_PERSECOND_AUTH_FILE                     -
KVSTORE_PERSECOND_OP_TIMEOUT                    REDIS_PERSECOND_OP_TIMEOUT                    0
KVSTORE_PERSECOND_TLS                           REDIS_PERSECOND_TLS                           false
KVSTORE_PERSECOND_SENTINEL_AUTH                 REDIS_PERSECOND_SENTINEL_AUTH                 -
KVSTORE_PERSECOND_PIPELINE_WINDOW               REDIS_PERSECOND_PIPELINE_WINDOW               0
KVSTORE_PERSECOND_PIPELINE_LIMIT                REDIS_PERSECOND_PIPELINE_LIMIT                0
KVSTORE_PERSECOND_CLUSTER_PIPELINE_PARALLELISM  REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM  1
KVSTORE_PERSECOND_TIMEOUT                       REDIS_PERSECOND_TIMEOUT                       10s
KVSTORE_PERSECOND_POOL_ON_EMPTY_BEHAVIOR        REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR        CREATE not WAIT
KVSTORE_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION   REDIS_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION   1s    not 0
MEMSTORE_HOST_PORT                              MEMCACHE_HOST_PORT                            -
MEMSTORE_MAX_IDLE_CONNS                         MEMCACHE_MAX_IDLE_CONNS                       2
MEMSTORE_SRV                                    MEMCACHE_SRV                                  -
MEMSTORE_SRV_REFRESH                            MEMCACHE_SRV_REFRESH                          0
MEMSTORE_TLS                                    MEMCACHE_TLS                                  false
MEMSTORE_TLS_CLIENT_CERT                        MEMCACHE_TLS_CLIENT_CERT                      -
MEMSTORE_TLS_CLIENT_KEY                         MEMCACHE_TLS_CLIENT_KEY                       -
MEMSTORE_TLS_CACERT                             MEMCACHE_TLS_CACERT                           -
MEMSTORE_TLS_SKIP_HOSTNAME_VERIFICATION         MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION       false
SHADOW_MODE                                     -                                             false
QUOTA_MODE                                      -                                             false
RESPONSE_DYNAMIC_METADATA                       -                                             false
TRACING_ENABLED                                 -                                             false
TRACING_SERVICE_NAME                            -                                             RateLimit
TRACING_SERVICE_NAMESPACE                       -                                             -
TRACING_SERVICE_INSTANCE_ID                     -                                             -
TRACING_EXPORTER_PROTOCOL                       -                                             http
TRACING_SAMPLING_RATE                           -                                             1
GRPC_MAX_MESSAGE_BYTES                          -                                             262144 ours
GRPC_MAX_HEADER_BYTES                           -                                             16384 ours
GRPC_MAX_CONCURRENT_STREAMS                     -                                             1000 not 0: the memory of a connection is bounded
REQUEST_TIMEOUT                                 -                                             0
MAX_CONCURRENT_REQUESTS                         -                                             0
USE_CALENDAR_MONTH_RATE_LIMIT                   -                                             false
LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED           -                                             false
LIMIT_REQUEST_HEADERS_ENABLED                   -                                             false
LIMIT_REQUEST_LIMIT_HEADER                      -                                             RateLimit-Limit
LIMIT_REQUEST_REMAINING_HEADER                  -                                             RateLimit-Remaining
LIMIT_REQUEST_RESET_HEADER                      -                                             RateLimit-Reset
GRPC_MAX_CONNECTIONS                            -                                             4096 ours
GRPC_MAX_CONNECTIONS_PER_ADDRESS                -                                             1024 ours
GRPC_MAX_BYTES_IN_FLIGHT                        -                                             67108864 ours
GRPC_MESSAGE_TIMEOUT                            -                                             10s ours
MAX_DESCRIPTORS_PER_REQUEST                     -                                             1000 ours
MAX_ENTRIES_PER_DESCRIPTOR                      -                                             100 ours
JSON_MAX_BODY_BYTES                             -                                             1048576 ours
COUNTER_KEY_FORMAT                              -                                             -         ours
GRPC_REFLECTION                                 -                                             false ours
DEBUG_CONSOLE                                   -                                             true  ours
ADMIN_TOKEN                                     -                                             - ours
QUOTA_ENABLED                                   -                                             false ours
QUOTA_TTL                                       -                                             10s   ours
ADMIN_TOKEN_FILE                                -                                             - ours
ALLOWED_HOSTS                                   -                                             - ours
JSON_WITHOUT_CLIENT_CERTIFICATE                 -                                             false ours
HTTP_MAX_CONNECTIONS                            -                                             1024 ours
HTTP_MAX_CONNECTIONS_PER_ADDRESS                -                                             128 ours
HTTP_MAX_BYTES_IN_FLIGHT                        -                                             67108864 ours
MAX_STATISTICS_NAMES                            -                                             10000 ours
TOP_KEYS                                        -                                             true  ours
SCRAPE_TOP_KEYS                                 -                                             0     ours
SANITIZE_DESCRIPTOR_METRIC_DOTS                 -                                             false
EMBEDDED_MAX_BYTES                              -                                             536870912 ours
XDS_CLIENT_STRICT                               -                                             false ours
EMBEDDED_WHEN_FULL                              -                                             evict-fewest ours
ON_STORE_FAILURE                                -                                             error ours
LEASES                                          -                                             rules ours
STORE_BREAKER_FAILURES                          -                                             3 ours
STORE_BREAKER_WAIT                              -                                             10ms ours
STORE_BREAKER_MAX_WAIT                          -                                             100ms ours
SHUTDOWN_DRAIN_DELAY                            -                                             0s    ours
SHUTDOWN_TIMEOUT                                -                                             30s   ours
`

func TestTableIsThatOfTheReference(t *testing.T) {
	var missing []string
	got := map[string]settings.Variable{}
	for _, v := range settings.Table() {
		got[v.Name] = v
	}
	for line := range strings.Lines(strings.TrimSpace(want)) {
		f := strings.Fields(line)
		v, ok := got[f[0]]
		if !ok {
			missing = append(missing, f[0])
			continue
		}
		delete(got, f[0])
		require.Equal(t, len(f) > 3 && f[3] == "ours", strings.HasSuffix(v.Doc, "(extension)"), "%s is an extension of the reference service", f[0])
		require.Equal(t, strings.TrimPrefix(f[1], "-"), strings.Join(v.Aliases, ","), "other names of %s", f[0])
		require.Equal(t, strings.TrimPrefix(f[2], "-"), v.Default, "default of %s", f[0])
	}
	require.Empty(t, missing, "settings of the reference that are not in the table")
	require.Empty(t, got, "settings that are in the table and not in the reference")
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range settings.Table() {
		require.NotEmpty(t, v.Doc, v.Name)
		require.NotEmpty(t, v.Group, v.Name)
		for _, name := range append([]string{v.Name}, v.Aliases...) {
			require.False(t, seen[name], "duplicate %s", name)
			seen[name] = true
		}
		_, err := settings.Parse(map[string]string{v.Name: v.Default})
		require.NoError(t, err, "%s does not accept its own default %q", v.Name, v.Default)
	}
}

// reference lists the variables that envoyproxy/ratelimit reads as of September 2026, on its main branch (f2fb157 and what was
// merged after it) or in a pull request that is open or was closed in favour of another one.
const reference = `
HOST PORT DEBUG_HOST DEBUG_PORT GRPC_UDS GRPC_HOST GRPC_PORT GRPC_MAX_CONNECTION_AGE GRPC_MAX_CONNECTION_AGE_GRACE
GRPC_MAX_CONCURRENT_STREAMS MAX_CONCURRENT_REQUESTS REQUEST_TIMEOUT
GRPC_SERVER_USE_TLS GRPC_SERVER_TLS_CERT GRPC_SERVER_TLS_KEY GRPC_CLIENT_TLS_CACERT GRPC_CLIENT_TLS_SAN LOG_LEVEL LOG_FORMAT
CONFIG_TYPE FORCE_START_WITHOUT_INITIAL_CONFIG CONFIG_GRPC_XDS_NODE_ID CONFIG_GRPC_XDS_NODE_METADATA CONFIG_GRPC_XDS_SERVER_URL
CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS CONFIG_GRPC_XDS_SERVER_USE_TLS
CONFIG_GRPC_XDS_CLIENT_TLS_CERT CONFIG_GRPC_XDS_CLIENT_TLS_KEY CONFIG_GRPC_XDS_SERVER_TLS_CACERT CONFIG_GRPC_XDS_SERVER_TLS_SAN
XDS_CLIENT_BACKOFF_INITIAL_INTERVAL XDS_CLIENT_BACKOFF_MAX_INTERVAL XDS_CLIENT_BACKOFF_RANDOM_FACTOR XDS_CLIENT_BACKOFF_JITTER
XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES USE_DOG_STATSD USE_DOG_STATSD_MOGRIFIERS USE_STATSD STATSD_HOST STATSD_PORT EXTRA_TAGS
STATS_FLUSH_INTERVAL DISABLE_STATS USE_PROMETHEUS PROMETHEUS_ADDR PROMETHEUS_PATH PROMETHEUS_MAPPER_YAML
PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS SANITIZE_DESCRIPTOR_METRIC_DOTS
RUNTIME_ROOT RUNTIME_SUBDIRECTORY RUNTIME_APPDIRECTORY RUNTIME_IGNOREDOTFILES RUNTIME_WATCH_ROOT MERGE_DOMAIN_CONFIG
EXPIRATION_JITTER_MAX_SECONDS LOCAL_CACHE_SIZE_IN_BYTES NEAR_LIMIT_RATIO CACHE_KEY_PREFIX BACKEND_TYPE
STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT USE_CALENDAR_MONTH_RATE_LIMIT
LIMIT_RESPONSE_HEADERS_ENABLED LIMIT_LIMIT_HEADER LIMIT_REMAINING_HEADER LIMIT_RESET_HEADER LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED
LIMIT_REQUEST_HEADERS_ENABLED LIMIT_REQUEST_LIMIT_HEADER LIMIT_REQUEST_REMAINING_HEADER LIMIT_REQUEST_RESET_HEADER
HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED SHADOW_MODE QUOTA_MODE RESPONSE_DYNAMIC_METADATA
REDIS_SOCKET_TYPE REDIS_TYPE REDIS_URL REDIS_POOL_SIZE REDIS_AUTH REDIS_AUTH_FILE REDIS_SENTINEL_AUTH REDIS_TLS REDIS_TLS_CLIENT_CERT
REDIS_TLS_CLIENT_KEY REDIS_TLS_CACERT REDIS_TLS_SKIP_HOSTNAME_VERIFICATION REDIS_PIPELINE_WINDOW REDIS_PIPELINE_LIMIT
REDIS_CLUSTER_PIPELINE_PARALLELISM REDIS_TIMEOUT REDIS_OP_TIMEOUT REDIS_POOL_ON_EMPTY_BEHAVIOR REDIS_POOL_ON_EMPTY_WAIT_DURATION
REDIS_HEALTH_CHECK_ACTIVE_CONNECTION REDIS_STARTUP_INITIAL_INTERVAL REDIS_STARTUP_MAX_INTERVAL REDIS_STARTUP_MAX_ELAPSED_TIME
REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR REDIS_PERSECOND REDIS_PERSECOND_SOCKET_TYPE REDIS_PERSECOND_TYPE REDIS_PERSECOND_URL
REDIS_PERSECOND_POOL_SIZE REDIS_PERSECOND_AUTH REDIS_PERSECOND_AUTH_FILE REDIS_PERSECOND_SENTINEL_AUTH REDIS_PERSECOND_TLS
REDIS_PERSECOND_PIPELINE_WINDOW REDIS_PERSECOND_PIPELINE_LIMIT REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM REDIS_PERSECOND_TIMEOUT
REDIS_PERSECOND_OP_TIMEOUT REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR REDIS_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION
MEMCACHE_HOST_PORT MEMCACHE_MAX_IDLE_CONNS MEMCACHE_SRV MEMCACHE_SRV_REFRESH MEMCACHE_TLS MEMCACHE_TLS_CLIENT_CERT
MEMCACHE_TLS_CLIENT_KEY MEMCACHE_TLS_CACERT MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION
TRACING_ENABLED TRACING_SERVICE_NAME TRACING_SERVICE_NAMESPACE TRACING_SERVICE_INSTANCE_ID TRACING_EXPORTER_PROTOCOL TRACING_SAMPLING_RATE
`

// Every variable of the reference service is a setting, or a warning says why it is not needed.
func TestNamesOfTheReference(t *testing.T) {
	known := map[string]bool{}
	for _, v := range settings.Table() {
		for _, name := range append([]string{v.Name}, v.Aliases...) {
			known[name] = true
		}
	}
	for name := range strings.FieldsSeq(reference) {
		if known[name] {
			continue
		}
		warnings := settings.Warnings(environment{name: "true"})
		require.Len(t, warnings, 1, name)
		require.Equal(t, name, warnings[0].Variable)
		require.NotContains(t, warnings[0].Text, "unknown", name)
	}
}

// The documented defaults equal those of the struct.
func TestDefault(t *testing.T) {
	s := settings.Default()
	kv := settings.KV{
		SocketType: "tcp", Type: settings.Single, PoolSize: 10, Timeout: 10 * time.Second,
		PipelineParallelism: 1, PoolOnEmpty: settings.PoolCreate, PoolOnEmptyWait: time.Second,
	}
	require.Equal(t, kv, s.KVStorePerSecond)
	kv.SocketType, kv.URL = settings.SocketUnix, "/var/run/nutcracker/ratelimit.sock"
	require.Equal(t, kv, s.KVStore)
	s.KVStore, s.KVStorePerSecond = settings.KV{}, settings.KV{}
	require.Equal(t, &settings.Settings{
		Host: "0.0.0.0", Port: 8080, DebugHost: "127.0.0.1", DebugPort: 6070, DebugConsole: true, GRPCHost: "0.0.0.0", GRPCPort: 8081,
		QuotaTTL: 10 * time.Second, GRPCMaxConnectionAge: 24 * time.Hour, GRPCMaxConnectionAgeGrace: time.Hour,
		GRPCMaxMessageBytes: 256 << 10, GRPCMaxHeaderBytes: 16 << 10, GRPCMaxConcurrentStreams: 1000,
		GRPCMaxConnections: 4096, GRPCMaxConnectionsPerAddress: 1024, GRPCMaxBytesInFlight: 64 << 20,
		GRPCMessageTimeout: 10 * time.Second, MaxDescriptors: 1000, MaxEntries: 100, JSONMaxBodyBytes: 1 << 20, MaxStatisticsNames: 10_000,
		HTTPMaxConnections: 1024, HTTPMaxConnectionsPerAddress: 128, HTTPMaxBytesInFlight: 64 << 20, LogLevel: "WARN", LogFormat: "text",
		ConfigType: settings.File, RuntimeRoot: "/srv/runtime_data/current", RuntimeAppDirectory: "config", RuntimeWatchRoot: true,
		XDSNodeID: "default", XDSServerURL: "localhost:18000", XDSRetryInterval: 3 * time.Second,
		XDSBackoffInitial: 10 * time.Second, XDSBackoffMax: time.Minute, XDSBackoffFactor: 0.5, XDSBackoffJitter: true,
		StatsFlushInterval: 10 * time.Second, UsePushStats: true, PushStatsHost: "localhost", PushStatsPort: 8125,
		PushStatsProtocol: "tcp", ScrapeAddr: ":9090", ScrapePath: "/metrics", ScrapeMapperSetting: "SCRAPE_MAPPER_YAML", TopKeys: true,
		CounterKeyFormat: "unambiguous", ExpirationJitter: 300, NearLimitRatio: 0.8, EmbeddedMaxBytes: 512 << 20, EmbeddedWhenFull: "evict-fewest",
		OnStoreFailure: "error", Leases: settings.LeasesOfRules, BreakerFailures: 3, BreakerWait: 10 * time.Millisecond, BreakerMaxWait: 100 * time.Millisecond,
		LimitHeader: "RateLimit-Limit", RemainingHeader: "RateLimit-Remaining", ResetHeader: "RateLimit-Reset",
		RequestLimitHeader: "RateLimit-Limit", RequestRemainingHeader: "RateLimit-Remaining", RequestResetHeader: "RateLimit-Reset",
		Backend: settings.Embedded, BackendReason: "neither BACKEND_TYPE nor KVSTORE_URL is set",
		KVStoreStartupInitial: time.Second, KVStoreStartupMax: 30 * time.Second, MemStoreMaxIdleConns: 2,
		Tracing:         table.Tracing{Protocol: "http", ServiceName: "RateLimit", SamplingRate: 1},
		ShutdownTimeout: 30 * time.Second,
	}, s)
}
