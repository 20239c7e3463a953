package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

func TestPairs(t *testing.T) {
	for text, want := range map[string][]settings.Pair{
		"a:b":                    {{"a", "b"}},
		"a:b,c:d":                {{"a", "b"}, {"c", "d"}},
		"<a:b>,<c:d>":            {{"a", "b"}, {"c", "d"}},
		" <a:b> , c : d ":        {{"a", "b"}, {"c", "d"}},
		"url:http://x:80/y":      {{"url", "http://x:80/y"}},
		"<list:1,2,3>,c:d":       {{"list", "1,2,3"}, {"c", "d"}},
		" ":                      nil,
		"z:1,y:2,x:3,w:4":        {{"z", "1"}, {"y", "2"}, {"x", "3"}, {"w", "4"}},
		"kube.cluster/name:eu-1": {{"kube.cluster/name", "eu-1"}},
	} {
		require.Equal(t, want, parse(t, environment{"EXTRA_TAGS": text}).ExtraTags, text)
	}
	s := parse(t, environment{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "<Authorization:Bearer a b,c>,<x:1>,<x:2>,<y:>"})
	require.Equal(t, []settings.Pair{{"Authorization", "Bearer a b,c"}, {"x", "1"}, {"x", "2"}, {"y", ""}}, s.XDSHeaders)
	s = parse(t, environment{"CONFIG_GRPC_XDS_NODE_METADATA": "zone=eu-1,expr=a=b,empty="})
	require.Equal(t, map[string]string{"zone": "eu-1", "expr": "a=b", "empty": ""}, s.XDSNodeMetadata)
}

func TestLists(t *testing.T) {
	s := parse(t, environment{"MEMSTORE_HOST_PORT": "a:1, b:2 ,[::1]:3"})
	require.Equal(t, []string{"a:1", "b:2", "[::1]:3"}, s.MemStoreHostPort)
}

func TestNodes(t *testing.T) {
	for _, tt := range []struct {
		kind, url, master string
		addrs             []string
	}{
		{"single", "redis:6379", "", []string{"redis:6379"}},
		{"single", "/run/a,b.sock", "", []string{"/run/a,b.sock"}},
		{"sentinel", "mymaster, a:1,b:2", "mymaster", []string{"a:1", "b:2"}},
		{"cluster", "a:1,b:2", "", []string{"a:1", "b:2"}},
	} {
		s := parse(t, environment{"KVSTORE_URL": tt.url, "KVSTORE_TYPE": tt.kind})
		master, addrs := s.KVStore.Nodes()
		require.Equal(t, tt.master, master)
		require.Equal(t, tt.addrs, addrs)
	}
}

// The address of one server may be a URL.
func TestRedisURL(t *testing.T) {
	for _, tt := range []struct {
		url, addr, auth string
		database        int
		tls             bool
	}{
		{"redis://redis", "redis:6379", "", 0, false},
		{"redis://redis:7000/3", "redis:7000", "", 3, false},
		{"rediss://ann:s%2Fe:c@redis:7000/", "redis:7000", "ann:s/e:c", 0, true},
		{"REDIS://:p:w@[::1]:7000?db=2", "[::1]:7000", ":p:w", 2, false},
	} {
		s := parse(t, environment{"REDIS_URL": tt.url, "REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": tt.url})
		for _, kv := range []*settings.KV{s.KVStore.Resolved(), s.KVStorePerSecond.Resolved()} {
			require.Equal(t, tt.addr, kv.URL, tt.url)
			require.Equal(t, tt.auth, kv.Auth, tt.url)
			require.Equal(t, tt.database, kv.Database, tt.url)
			require.Equal(t, tt.tls, kv.TLS, tt.url)
		}
	}
	s := parse(t, environment{"REDIS_URL": "redis://u:p@redis", "REDIS_AUTH": "other", "REDIS_SOCKET_TYPE": "tcp4"})
	require.Equal(t, "other", s.KVStore.Resolved().Auth)
	require.Equal(t, settings.SocketTCP4, s.KVStore.SocketType)
}

// The password of a store may be in a file, whose content is not shown.
func TestAuthFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	s := parse(t, environment{"REDIS_URL": "redis://u:p@a:1", "REDIS_AUTH_FILE": file})
	_, err := s.KVStore.Resolved().ReadAuth()
	require.ErrorContains(t, err, file)
	for content, want := range map[string]string{"user:hunter2\r\n": "user:hunter2", " hunter2 ": " hunter2 ", "\n": ""} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		got, err := s.KVStore.Resolved().ReadAuth()
		require.Equal(t, want, got)
		require.Equal(t, want == "", err != nil)
	}
	s = parse(t, environment{"REDIS_URL": "redis://u:p@a:1"})
	got, err := s.KVStore.Resolved().ReadAuth()
	require.NoError(t, err)
	require.Equal(t, "u:p", got)
}

func TestSocketType(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    string
	}{
		{environment{"REDIS_URL": "redis:6379"}, "tcp"},
		{environment{"REDIS_URL": "/run/redis.sock"}, "unix"},
		{environment{"REDIS_URL": "redis.sock", "REDIS_SOCKET_TYPE": "UNIX"}, "unix"},
		{environment{"REDIS_URL": "a:1", "REDIS_TYPE": "cluster", "REDIS_SOCKET_TYPE": "unix"}, "tcp"},
		{environment{"BACKEND_TYPE": "redis"}, "unix"},
	} {
		require.Equal(t, tt.want, parse(t, tt.environ).KVStore.SocketType, "%v", tt.environ)
	}
}

func TestBackend(t *testing.T) {
	for _, tt := range []struct {
		environ      environment
		want, reason string
	}{
		{nil, settings.Embedded, "neither BACKEND_TYPE nor KVSTORE_URL is set"},
		{environment{"KVSTORE_URL": "redis:6379"}, settings.KVStore, "BACKEND_TYPE is not set, but KVSTORE_URL is"},
		{environment{"REDIS_URL": "redis:6379"}, settings.KVStore, "BACKEND_TYPE is not set, but REDIS_URL is"},
		{environment{"REDIS_URL": ""}, settings.Embedded, "neither BACKEND_TYPE nor KVSTORE_URL is set"},
		{environment{"BACKEND_TYPE": "", "REDIS_URL": "redis:6379"}, settings.KVStore, "BACKEND_TYPE is not set, but REDIS_URL is"},
		{environment{"BACKEND_TYPE": "embedded", "REDIS_URL": "redis:6379"}, settings.Embedded, "BACKEND_TYPE is set"},
		{environment{"BACKEND_TYPE": "REDIS", "REDIS_URL": "redis:6379"}, settings.KVStore, "BACKEND_TYPE is set"},
		{environment{"BACKEND_TYPE": "KVStore"}, settings.KVStore, "BACKEND_TYPE is set"},
		{environment{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": "a:1"}, settings.MemStore, "BACKEND_TYPE is set"},
		{environment{"BACKEND_TYPE": "memstore", "MEMCACHE_HOST_PORT": "a:1", "REDIS_URL": "redis:6379"}, settings.MemStore, "BACKEND_TYPE is set"},
	} {
		s := parse(t, tt.environ)
		require.Equal(t, tt.want, s.Backend, "%v", tt.environ)
		require.Equal(t, tt.reason, s.BackendReason)
	}
}

func TestMogrifiers(t *testing.T) {
	s := parse(t, environment{
		"USE_DOG_STATSD": "true", "USE_DOG_STATSD_MOGRIFIERS": "tag,2",
		"DOG_STATSD_MOGRIFIER_TAG_PATTERN": `^ratelimit\.service\.rate_limit\.(.*)\.(.*)\.(.*)$`,
		"DOG_STATSD_MOGRIFIER_TAG_NAME":    "ratelimit.service.rate_limit.$3",
		"DOG_STATSD_MOGRIFIER_TAG_TAGS":    "domain:$1, descriptor:$2,plain",
		"AGENTSTATS_MOGRIFIER_2_PATTERN":   ".",
		"AGENTSTATS_MOGRIFIER_2_NAME":      "other.$0",
	})
	require.Len(t, s.Mogrifiers, 2)
	first, second := s.Mogrifiers[0], s.Mogrifiers[1]
	require.Equal(t, "tag", first.Name)
	require.Equal(t, 3, first.Pattern.NumSubexp())
	require.True(t, first.Pattern.MatchString("ratelimit.service.rate_limit.a.b.over_limit"))
	require.Equal(t, "ratelimit.service.rate_limit.$3", first.Metric)
	require.Equal(t, []string{"domain:$1", "descriptor:$2", "plain"}, first.Tags)
	require.Equal(t, "2", second.Name)
	require.Equal(t, "other.$0", second.Metric)
	require.Empty(t, second.Tags)

	s = parse(t, environment{"AGENTSTATS_MOGRIFIERS": "low", "AGENTSTATS_MOGRIFIER_low_PATTERN": "a", "AGENTSTATS_MOGRIFIER_low_NAME": "b"})
	require.Equal(t, "b", s.Mogrifiers[0].Metric, "the name as it is works too")
}

func TestBadMogrifiers(t *testing.T) {
	const pattern, name, tags = "AGENTSTATS_MOGRIFIER_X_PATTERN", "AGENTSTATS_MOGRIFIER_X_NAME", "AGENTSTATS_MOGRIFIER_X_TAGS"
	for _, tt := range []struct {
		environ environment
		want    string
	}{
		{environment{pattern: "", name: "n"}, "AGENTSTATS_MOGRIFIER_X_PATTERN is not set"},
		{environment{pattern: "a", name: ""}, "AGENTSTATS_MOGRIFIER_X_NAME is not set"},
		{environment{pattern: "a(b", name: "n"}, pattern + `: is not a regular expression`},
		{environment{pattern: "(a)", name: "n.$2"}, name + `: refers to group "$2", but the pattern has 1`},
		{environment{pattern: "a", name: "n.$99999999999999999999"}, name + ": refers to"},
		{environment{pattern: "a", name: "n", tags: "t:$1"}, tags + `: refers to group "$1"`},
		{environment{pattern: "a", name: "n", tags: "t:"}, tags + `: has the tag "t:": use name:value`},
		{environment{pattern: "a", name: "n", tags: ":v"}, tags + `: has the tag ":v"`},
		{environment{pattern: "a", name: "n", tags: "a:b,,c:d"}, tags + `: has the tag ""`},
		{environment{pattern: "a", name: "n", "DOG_STATSD_MOGRIFIER_X_NAME": "m"}, name + ", DOG_STATSD_MOGRIFIER_X_NAME: two names"},
	} {
		tt.environ["AGENTSTATS_MOGRIFIERS"] = "x"
		lines := refused(t, tt.environ)
		require.Len(t, lines, 1, "%v", tt.environ)
		require.Contains(t, lines[0], tt.want)
	}
	for list, want := range map[string]string{
		"x,,y": "has the name \"\"",
		"a b":  `has the name "a b"`,
	} {
		require.Contains(t, strings.Join(refused(t, environment{"AGENTSTATS_MOGRIFIERS": list}), "\n"), "AGENTSTATS_MOGRIFIERS: "+want)
	}
	environ := environment{pattern: "a", name: "n", "AGENTSTATS_MOGRIFIERS": "x,x"}
	require.Contains(t, refused(t, environ)[0], "AGENTSTATS_MOGRIFIERS: has x twice")
	lines := refused(t, environment{"USE_DOG_STATSD_MOGRIFIERS": "y"})
	require.Len(t, lines, 2)
	requireNames(t, "USE_DOG_STATSD_MOGRIFIERS DOG_STATSD_MOGRIFIER_Y_PATTERN", lines[0])
	requireNames(t, "USE_DOG_STATSD_MOGRIFIERS DOG_STATSD_MOGRIFIER_Y_NAME", lines[1])
}

// Counter keys are those of the reference service where it may share the counters.
func TestCounterKeyFormat(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    string
	}{
		{nil, "unambiguous"},
		{environment{"REDIS_URL": "redis:6379"}, "reference"},
		{environment{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": "m:11211"}, "reference"},
		{environment{"REDIS_URL": "redis:6379", "COUNTER_KEY_FORMAT": "unambiguous"}, "unambiguous"},
		{environment{"COUNTER_KEY_FORMAT": "reference"}, "reference"},
	} {
		require.Equal(t, tt.want, parse(t, tt.environ).CounterKeyFormat, "%v", tt.environ)
	}
}
