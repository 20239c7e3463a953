package settings_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

func TestNoWarnings(t *testing.T) {
	quiet := environment{}
	for _, name := range []string{
		"PATH", "HOME", "HOSTNAME", "HOSTS", "TERM", "LANG", "USER", "LOG_LVL", "EXTRA_ARGS", "REDIS", "DEBUG", "CONFIG_TYPES_DIR",
		"GRPC_GO_LOG_SEVERITY_LEVEL", "GRPC_GO_LOG_VERBOSITY_LEVEL", "GRPC_TRACE", "GRPC_VERBOSITY", "GRPC_XDS_BOOTSTRAP",
		"GRPC_XDS_BOOTSTRAP_CONFIG", "GRPC_ENFORCE_ALPN_ENABLED", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME",
		"REDIS_SERVICE_HOST", "REDIS_SERVICE_PORT", "REDIS_SERVICE_PORT_REDIS", "REDIS_PORT_6379_TCP", "REDIS_PORT_6379_TCP_ADDR",
		"REDIS_PORT_6379_TCP_PORT", "REDIS_PORT_6379_TCP_PROTO", "STATSD_EXPORTER_PORT_9125_UDP", "GRPC_SERVICE_HOST",
		"KUBERNETES_PORT", "KUBERNETES_SERVICE_HOST",
	} {
		quiet[name] = "x"
	}
	quiet["REDIS_PORT"] = "tcp://10.0.0.7:6379"
	quiet["STATSD_EXPORTER_PORT"] = "udp://10.0.0.7:9125"
	require.Empty(t, settings.Warnings(quiet))
	require.Empty(t, settings.Warnings(nil))
}

func TestUnknownVariables(t *testing.T) {
	for name, want := range map[string]string{
		"REDIS_POOLSIZE":                    "REDIS_POOL_SIZE",
		"KVSTORE_PERSECND_URL":              "KVSTORE_PERSECOND_URL",
		"REDIS_TIMOEUT":                     "REDIS_TIMEOUT",
		"GRPC_PROT":                         "GRPC_PORT",
		"RUNTIME_IGNORE_DOTFILES":           "RUNTIME_IGNOREDOTFILES",
		"LIMIT_REMAINNG_HEADER":             "LIMIT_REMAINING_HEADER",
		"TRACING_SAMPLINGRATE":              "TRACING_SAMPLING_RATE",
		"STATS_FLUSH_INTERVALL":             "STATS_FLUSH_INTERVAL",
		"SHUTDOWN_TIME_OUT":                 "SHUTDOWN_TIMEOUT",
		"USE_PROMETEUS":                     "USE_PROMETHEUS", // no known prefix, but one edit away
		"NEAR_LIMIT_RATOI":                  "NEAR_LIMIT_RATIO",
		"BACKEND_TYP":                       "BACKEND_TYPE",
		"USE_CALENDAR_MONTH_RATELIMIT":      "USE_CALENDAR_MONTH_RATE_LIMIT",
		"USE_STATS_DAEMON":                  "",
		"MAX_CONCURENT_REQUEST":             "MAX_CONCURRENT_REQUESTS",
		"REQUEST_TIME_OUT":                  "REQUEST_TIMEOUT",
		"HEALTHY_WITH_AT_LEAST_ONE_CONFIG":  "",
		"FORCE_START_WITHOUT_INITAL_CONFG":  "FORCE_START_WITHOUT_INITIAL_CONFIG",
		"REDIS_PASSWORD":                    "",
		"MEMCACHE_NOTHING_LIKE_IT":          "",
		"GRPC_" + strings.Repeat("X", 1000): "",
	} {
		got := settings.Warnings(environment{name: "a-value-not-to-show"})
		require.Len(t, got, 1)
		require.Equal(t, name, got[0].Variable)
		_, meant, _ := strings.Cut(got[0].Text, "did you mean ")
		require.Equal(t, want, strings.TrimSuffix(meant, "?"))
		require.NotContains(t, got[0].String(), "a-value-not-to-show")
		require.True(t, strings.HasPrefix(got[0].String(), name+": "))
	}
}

// The order of warnings does not depend on the order of the map.
func TestOrderOfWarnings(t *testing.T) {
	environ := environment{"REDIS_X": "", "GRPC_X": "", "KVSTORE_X": "", "REDIS_PIPELINE_LIMIT": "1"}
	for range 20 {
		var names []string
		for _, w := range settings.Warnings(environ) {
			names = append(names, w.Variable)
		}
		require.Equal(t, []string{"REDIS_PIPELINE_LIMIT", "GRPC_X", "KVSTORE_X", "REDIS_X"}, names)
	}
}

func TestSettingsWithoutEffect(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    string // the settings that the warning names, at least the first of them
	}{
		{environment{"GRPC_UDS": "/run/s", "GRPC_PORT": "1"}, "GRPC_PORT GRPC_UDS"},
		{environment{"GRPC_UDS": "/run/s", "GRPC_HOST": "::1"}, "GRPC_HOST"},
		{environment{"GRPC_SERVER_TLS_CERT": "c"}, "GRPC_SERVER_TLS_CERT GRPC_SERVER_USE_TLS"},
		{environment{"CONFIG_GRPC_XDS_SERVER_TLS_CACERT": "ca"}, "CONFIG_GRPC_XDS_SERVER_TLS_CACERT CONFIG_GRPC_XDS_SERVER_USE_TLS"},
		{environment{"CONSOLE_TOKEN": "x"}, "CONSOLE_TOKEN"},
		{environment{"REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR": "true"}, "REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR"},
		{environment{"GRPC_SERVER_TLS_CA_CERT": "/certs/ca.crt"}, "GRPC_SERVER_TLS_CA_CERT GRPC_CLIENT_TLS_CACERT"},
		{environment{"CONSOLE_RECENT_REQUESTS": "many"}, "CONSOLE_RECENT_REQUESTS"},
		{environment{"REDIS_PIPELINE_LIMIT": "8"}, "REDIS_PIPELINE_LIMIT"},
		{environment{"KVSTORE_PERSECOND_PIPELINE_LIMIT": "8"}, "KVSTORE_PERSECOND_PIPELINE_LIMIT"},
		{environment{"REDIS_SENTINEL_AUTH": "p"}, "REDIS_SENTINEL_AUTH REDIS_TYPE"},
		{environment{"REDIS_TLS_CACERT": "ca"}, "REDIS_TLS_CACERT REDIS_TLS"},
		{environment{"MEMSTORE_TLS_CACERT": "ca"}, "MEMSTORE_TLS_CACERT MEMSTORE_TLS"},
		{environment{"MEMCACHE_HOST_PORT": "a:1"}, "MEMCACHE_HOST_PORT BACKEND_TYPE"},
		{environment{"REDIS_URL": "a:1", "BACKEND_TYPE": "embedded"}, "REDIS_URL BACKEND_TYPE"},
		{environment{"BACKEND_TYPE": "redis"}, "BACKEND_TYPE KVSTORE_URL"},
		{environment{"USE_DOG_STATSD": "true"}, "USE_DOG_STATSD USE_STATSD"},
		{environment{"SCRAPE_TOP_KEYS": "3", "TOP_KEYS": "false"}, "SCRAPE_TOP_KEYS TOP_KEYS"},
		{environment{"USE_SCRAPE": "true", "DISABLE_STATS": "true"}, "USE_SCRAPE DISABLE_STATS"},
		{
			environment{"PROMETHEUS_MAPPER_YAML": "m", "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS": "true"},
			"PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS PROMETHEUS_MAPPER_YAML",
		},
		{environment{"GRPC_CLIENT_TLS_CACERT": "ca"}, "GRPC_CLIENT_TLS_CACERT GRPC_SERVER_USE_TLS"},
		{
			environment{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": "c", "GRPC_SERVER_TLS_KEY": "k", "GRPC_CLIENT_TLS_SAN": "a.example.com"},
			"GRPC_CLIENT_TLS_SAN GRPC_CLIENT_TLS_CACERT",
		},
		{environment{"CONFIG_GRPC_XDS_SERVER_USE_TLS": "true", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": "c"}, "CONFIG_GRPC_XDS_CLIENT_TLS_CERT CONFIG_GRPC_XDS_CLIENT_TLS_KEY"},
		{environment{"REDIS_URL": "a:1", "REDIS_TLS": "true", "REDIS_TLS_CLIENT_KEY": "k"}, "REDIS_TLS_CLIENT_KEY REDIS_TLS_CLIENT_CERT"},
		{environment{"XDS_CLIENT_BACKOFF_MAX_INTERVAL": "5s"}, "XDS_CLIENT_BACKOFF_MAX_INTERVAL XDS_CLIENT_BACKOFF_INITIAL_INTERVAL"},
		{environment{"REDIS_STARTUP_INITIAL_INTERVAL": "5m"}, "REDIS_STARTUP_INITIAL_INTERVAL REDIS_STARTUP_MAX_INTERVAL"},
		{environment{"DOG_STATSD_MOGRIFIER_1_NAME": "n"}, "DOG_STATSD_MOGRIFIER_1_NAME AGENTSTATS_MOGRIFIERS"},
	} {
		got := settings.Warnings(tt.environ)
		parse(t, tt.environ)
		require.Len(t, got, 1, "%v", tt.environ)
		requireNames(t, tt.want, got[0].String())
	}
}

// Settings that have an effect cause no warnings.
func TestSettingsWithEffect(t *testing.T) {
	for _, environ := range []environment{
		{"GRPC_PORT": "1", "GRPC_HOST": "::1"},
		{"REDIS_URL": "m,a:1", "REDIS_TYPE": "sentinel", "REDIS_SENTINEL_AUTH": "p", "REDIS_TLS": "true", "REDIS_TLS_CACERT": "ca"},
		{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": "a:1"},
		{"USE_DOG_STATSD": "true", "USE_STATSD": "false"},
		{"USE_SCRAPE": "false", "DISABLE_STATS": "true"},
		{
			"USE_DOG_STATSD": "true", "USE_STATSD": "false", "USE_DOG_STATSD_MOGRIFIERS": "t",
			"DOG_STATSD_MOGRIFIER_T_PATTERN": "a", "DOG_STATSD_MOGRIFIER_T_NAME": "b", "DOG_STATSD_MOGRIFIER_T_TAGS": "",
		},
	} {
		require.Empty(t, settings.Warnings(environ), "%v", environ)
	}
}

func TestWarningsOfAnEnvironmentWithErrors(t *testing.T) {
	got := settings.Warnings(environment{"PORT": "x", "GRPC_PROT": "1"})
	require.Equal(t, []settings.Warning{{Variable: "GRPC_PROT", Text: "unknown setting: did you mean GRPC_PORT?"}}, got)
}
