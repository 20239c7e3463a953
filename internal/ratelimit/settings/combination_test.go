package settings_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
)

type environment = map[string]string

// Each error is one line that begins with a variable that is set and ends with a remedy.
func TestCombinations(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    string // the settings that the error names, at least the first of them
	}{
		{environment{"PORT": "8081"}, "PORT GRPC_PORT"},
		{environment{"GRPC_PORT": "8080"}, "GRPC_PORT PORT"},
		{environment{"DEBUG_PORT": "8080", "DEBUG_HOST": "127.0.0.1"}, "DEBUG_PORT"},
		{environment{"DEBUG_PORT": "8081", "DEBUG_HOST": "::"}, "DEBUG_PORT GRPC_PORT"},
		{environment{"HOST": "::1", "PORT": "9000", "GRPC_HOST": "", "GRPC_PORT": "9000"}, "GRPC_PORT"},
		{environment{"PORT": "9090", "USE_PROMETHEUS": "true"}, "PORT SCRAPE_ADDR"},
		{environment{"PROMETHEUS_ADDR": "127.0.0.1:6070", "USE_PROMETHEUS": "true"}, "PROMETHEUS_ADDR DEBUG_PORT"},

		{environment{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_KEY": "k"}, "GRPC_SERVER_USE_TLS GRPC_SERVER_TLS_CERT"},
		{environment{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": "c"}, "GRPC_SERVER_USE_TLS GRPC_SERVER_TLS_KEY"},
		{environment{"REDIS_URL": "a:1", "REDIS_AUTH": "x", "REDIS_AUTH_FILE": "/x"}, "REDIS_AUTH REDIS_AUTH_FILE"},
		{environment{"BACKEND_TYPE": "memstore"}, "BACKEND_TYPE MEMSTORE_HOST_PORT MEMSTORE_SRV"},
		{
			environment{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": "a:1", "MEMCACHE_SRV": "_memcache._tcp.a"},
			"MEMCACHE_HOST_PORT MEMCACHE_SRV",
		},
		{environment{"BACKEND_TYPE": "memstore", "MEMSTORE_HOST_PORT": "a:1", "CACHE_KEY_PREFIX": "a b"}, "CACHE_KEY_PREFIX"},
	} {
		lines := refused(t, tt.environ)
		require.Len(t, lines, 1, "%v", tt.environ)
		requireNames(t, tt.want, lines[0])
	}
}

// An error about the address of a store shows it without secrets.
func TestAddressesOfStores(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    string
	}{
		{environment{"KVSTORE_URL": "redis"}, `KVSTORE_URL: "redis" is not an address`},
		{environment{"KVSTORE_URL": "redis://u:p@redis:x"}, `KVSTORE_URL: "redis://***@redis:x" is not a valid URL`},
		{environment{"KVSTORE_URL": "redis://u:p@redis:6379/x"}, `KVSTORE_URL: "redis://***@redis:6379/x" has a database`},
		{environment{"KVSTORE_URL": "redis://u@redis"}, `KVSTORE_URL: "redis://***@redis" has a user name`},
		{environment{"KVSTORE_URL": "redis://redis?read_timeout=1s"}, `KVSTORE_URL: "redis://redis?read_timeout=1s" has the parameter "read_timeout"`},
		{environment{"KVSTORE_URL": "http://u:p@redis:6379"}, `KVSTORE_URL: "http://***@redis:6379" is a URL`},
		{environment{"KVSTORE_URL": "m,redis://u:p@redis:6379", "KVSTORE_TYPE": "sentinel"}, `KVSTORE_URL: item 1 is a URL`},
		{environment{"REDIS_URL": "redis:6379", "REDIS_SOCKET_TYPE": "unix"}, `REDIS_URL: "redis:6379" is an address, but REDIS_SOCKET_TYPE is unix`},
		{environment{"REDIS_URL": "/run/redis.sock", "REDIS_SOCKET_TYPE": "tcp"}, `REDIS_URL: "/run/redis.sock"`},
		{environment{"REDIS_URL": "mymaster", "REDIS_TYPE": "sentinel"}, `REDIS_URL: "mymaster" is not a list`},
		{environment{"REDIS_URL": "a:1,b:2", "REDIS_TYPE": "sentinel"}, `REDIS_URL: "a:1,b:2" is a list of nodes`},
		{environment{"REDIS_URL": "mymaster,a:1,b", "REDIS_TYPE": "sentinel"}, `REDIS_URL: "b" is not an address`},
		{environment{"REDIS_URL": "a:1,,b:2", "REDIS_TYPE": "cluster"}, `REDIS_URL: "" is not an address`},
		{environment{"BACKEND_TYPE": "redis", "REDIS_TYPE": "cluster"}, `REDIS_TYPE: "/var/run/nutcracker/ratelimit.sock"`},
		{environment{"BACKEND_TYPE": "redis", "REDIS_SOCKET_TYPE": "tcp"}, `REDIS_SOCKET_TYPE: "/var/run/nutcracker/ratelimit.sock"`},
		{environment{"REDIS_URL": "a:1", "REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": "b"}, `REDIS_PERSECOND_URL: "b" is not an address`},
	} {
		lines := refused(t, tt.environ)
		require.Len(t, lines, 1, "%v", tt.environ)
		require.Contains(t, lines[0], tt.want)
	}
}

// A mix-up of types and forms of addresses is found, with the settings to change as the user spells them.
func TestMixedUpTypes(t *testing.T) {
	const (
		single, tcp, unix, url, path   = "redis.example:6379", "tcp", "unix", "redis://u:p@redis.example:6379/1", "/run/redis.sock"
		sentinels, nodes, one, several = "mymaster,redis.example:26379", "a.example:1,b.example:2", "mymaster", "redis://a.example:1,redis://b.example:2"
	)
	for _, tt := range []struct {
		kind, socket, url string
		want              string // names in the error, "" if there is none
	}{
		{"", tcp, single, ""},
		{"", tcp, url, ""},
		{"", unix, path, ""},
		{"", "", path, ""},
		{"", "", url, ""},
		{"", tcp, "redis://:pass,word:1@redis.example:6379", ""},
		{"", tcp, sentinels, "single @TYPE sentinel"},
		{"", "", sentinels, "single @TYPE sentinel"},
		{"", unix, sentinels, "single @TYPE sentinel"},
		{"single", tcp, nodes, "single @TYPE cluster"},
		{"", unix, nodes, "single @TYPE cluster"},
		{"", tcp, several, "single @TYPE cluster"},
		{"", tcp, path, "@SOCKET_TYPE tcp unix"},
		{"", unix, single, "@SOCKET_TYPE unix tcp"},
		{"", unix, url, "@SOCKET_TYPE unix tcp"},
		{"", "", "unix:///run/redis.sock", "URL redis:// rediss"},
		{"", tcp, one, "address host:port"},
		{"", tcp, "mymaster,:26379", "address host:port"},
		{"", tcp, "mymaster;redis.example:26379", "address host:port"},
		{"", tcp, "redis://a.example:1,b.example:2", "single @TYPE cluster"},

		{"sentinel", tcp, sentinels, ""},
		{"sentinel", "", sentinels, ""},
		{"sentinel", unix, sentinels, ""},
		{"sentinel", tcp, nodes, "nodes sentinel @TYPE cluster master"},
		{"sentinel", tcp, single, "address sentinel @TYPE single"},
		{"sentinel", tcp, url, "URL sentinel @TYPE single"},
		{"sentinel", unix, path, "path sentinel @TYPE single"},
		{"sentinel", tcp, one, "list master"},

		{"cluster", tcp, nodes, ""},
		{"cluster", tcp, single, ""},
		{"cluster", unix, nodes, ""},
		{"cluster", tcp, sentinels, "sentinels cluster @TYPE sentinel port"},
		{"cluster", tcp, url, "URL cluster @TYPE single"},
		{"cluster", tcp, several, "URL host:port"},
		{"cluster", unix, path, "path cluster @TYPE single"},
		{"cluster", tcp, one, "address host:port"},
	} {
		for _, prefix := range []string{"REDIS_", "KVSTORE_", "REDIS_PERSECOND_"} {
			environ := environment{prefix + "URL": tt.url, prefix + "TYPE": tt.kind, prefix + "SOCKET_TYPE": tt.socket}
			if prefix == "REDIS_PERSECOND_" {
				environ["REDIS_URL"], environ["REDIS_PERSECOND"] = single, "true"
			}
			if tt.want == "" {
				parse(t, environ)
				continue
			}
			lines := refused(t, environ)
			require.Len(t, lines, 1, "%v", environ)
			require.True(t, errtest.Names(lines[0], strings.ReplaceAll("@URL: "+tt.want, "@", prefix)), "%v: %s", environ, lines[0])
			require.NotContains(t, lines[0], "u:p")
		}
	}
}

func TestCombinationsThatAreFine(t *testing.T) {
	for _, environ := range []environment{
		{"PORT": "0", "GRPC_PORT": "0", "DEBUG_PORT": "0", "SCRAPE_ADDR": ":0", "USE_SCRAPE": "true"},
		{"HOST": "127.0.0.1", "GRPC_HOST": "127.0.0.2", "PORT": "9000", "GRPC_PORT": "9000"},
		{"HOST": "::1", "PORT": "8081"}, // beside all IPv4 addresses
		{"PORT": "8081", "GRPC_UDS": "/run/ratelimit.sock", "GRPC_PORT": "8081"},
		{"PORT": "9090"}, // the scrape listener is off
		{"GRPC_SERVER_TLS_CERT": "c"},
		{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": "c", "GRPC_SERVER_TLS_KEY": "k", "GRPC_CLIENT_TLS_CACERT": "ca", "GRPC_CLIENT_TLS_SAN": "a.b"},
		{"BACKEND_TYPE": "redis"},
		{"BACKEND_TYPE": "embedded", "REDIS_URL": "nonsense"},
		{"BACKEND_TYPE": "memcache", "MEMCACHE_SRV": "_memcache._tcp.cache.example.com", "MEMCACHE_SRV_REFRESH": "1m"},
		{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": "a:1, b:2,/run/c.sock"},
		{"REDIS_URL": "mymaster,a:1", "REDIS_TYPE": "SENTINEL", "REDIS_SOCKET_TYPE": "unix"}, // which the reference ignores
		{"REDIS_URL": "[::1]:6379"},
		{"REDIS_URL": "run/redis.sock", "REDIS_SOCKET_TYPE": "unix"},
		{"CONFIG_GRPC_XDS_SERVER_URL": "dns:///xds.example.com:18000"},
		{"CONFIG_GRPC_XDS_SERVER_URL": "xds:18000"},
		{"CONFIG_GRPC_XDS_SERVER_URL": "unix:/run/xds.sock"},
		{"TRACING_SAMPLING_RATE": "0", "NEAR_LIMIT_RATIO": "1"},
		{"USE_STATSD": "true", "USE_PROMETHEUS": "true"}, // several sinks are fine here
	} {
		parse(t, environ)
	}
}

// An invalid value is reported once, without errors about its combination with others.
func TestNoErrorFollowsFromAnother(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    int
	}{
		{environment{"GRPC_SERVER_USE_TLS": "yes", "GRPC_CLIENT_TLS_CACERT": "ca"}, 1},
		{environment{"HOST": "a b", "PORT": "8081"}, 1},
		{environment{"REDIS_TYPE": "ring", "REDIS_URL": "a:1,b:2"}, 1},
		{environment{"BACKEND_TYPE": "memstore", "MEMSTORE_HOST_PORT": "x"}, 1},
		{environment{"BACKEND_TYPE": "memstore", "MEMSTORE_HOST_PORT": "a:1", "MEMCACHE_HOST_PORT": "b:1"}, 1},
	} {
		require.Len(t, refused(t, tt.environ), tt.want, "%v", tt.environ)
	}
}
