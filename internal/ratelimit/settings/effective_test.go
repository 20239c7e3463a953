package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

func effective(environ environment) map[string]settings.Entry {
	all := map[string]settings.Entry{}
	for _, e := range settings.Effective(environ) {
		all[e.Name] = e
	}
	return all
}

func TestEffectiveDefaults(t *testing.T) {
	entries := settings.Effective(nil)
	table := settings.Table()
	require.Len(t, entries, len(table))
	derived := environment{"BACKEND_TYPE": "embedded", "COUNTER_KEY_FORMAT": "unambiguous", "KVSTORE_SOCKET_TYPE": "unix", "KVSTORE_PERSECOND_SOCKET_TYPE": "tcp"}
	for i, e := range entries {
		require.Equal(t, table[i].Name, e.Name, "in the order of the table")
		require.Equal(t, "default", e.Origin, e.Name)
		if want, ok := derived[e.Name]; ok {
			require.Equal(t, want, e.Value, e.Name)
		} else {
			require.Equal(t, e.Default, e.Value, e.Name)
		}
	}
}

func TestEffective(t *testing.T) {
	got := effective(environment{
		"REDIS_URL": "redis:6379", "GRPC_PORT": "0x10", "LOG_LEVEL": "warning", "EXTRA_TAGS": "<a:b>",
		"KVSTORE_TIMEOUT": "2s", "REDIS_TIMEOUT": "2s", "STATSD_HOST": "", "HOST": "",
	})
	for name, want := range map[string][2]string{
		"KVSTORE_URL":         {"redis:6379", "environment, as REDIS_URL"},
		"KVSTORE_SOCKET_TYPE": {"tcp", "default"},
		"BACKEND_TYPE":        {"kvstore", "default"},
		"GRPC_PORT":           {"0x10", "environment, as GRPC_PORT"},
		"LOG_LEVEL":           {"WARN", "environment, as LOG_LEVEL"},
		"EXTRA_TAGS":          {"<a:b>", "environment, as EXTRA_TAGS"},
		"KVSTORE_TIMEOUT":     {"2s", "environment, as KVSTORE_TIMEOUT"},
		"PUSHSTATS_HOST":      {"localhost", "default"},
		"HOST":                {"", "environment, as HOST"},
	} {
		require.Equal(t, want, [2]string{got[name].Value, got[name].Origin}, name)
	}
}

func TestEffectiveOfAnEnvironmentWithErrors(t *testing.T) {
	got := effective(environment{"PORT": "http", "LOG_LEVEL": "loud", "REDIS_AUTH": "a", "KVSTORE_AUTH": "b"})
	require.Equal(t, "http", got["PORT"].Value)
	require.Equal(t, "loud", got["LOG_LEVEL"].Value)
	require.Equal(t, "environment, as LOG_LEVEL", got["LOG_LEVEL"].Origin)
	require.Equal(t, "***", got["KVSTORE_AUTH"].Value)
}

// Secrets are never printed, wherever a value may contain them.
func TestSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, environ := range []environment{
		{"REDIS_AUTH": secret},
		{"KVSTORE_PERSECOND_AUTH": "user:" + secret},
		{"REDIS_SENTINEL_AUTH": secret},
		{"REDIS_AUTH": secret, "KVSTORE_AUTH": "other"},
		{"REDIS_URL": "redis://user:" + secret + "@redis:6379"},
		{"REDIS_URL": "user:" + secret + "@redis:6379"},
		{"REDIS_URL": "user:x@" + secret + "@redis:6379", "REDIS_SOCKET_TYPE": "unix"},
		{"REDIS_URL": "a:1,user:x," + secret + "@b:2", "REDIS_TYPE": "cluster"},
		{"REDIS_URL": "m," + secret + ":x,y@b:2", "REDIS_TYPE": "sentinel"},
		{"REDIS_URL": "user:" + secret + "://x@b:2"},
		{"REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": secret + "@b"},
		{"REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": "a:1", "KVSTORE_PERSECOND_URL": secret + "@b:1"},
		{"MEMCACHE_HOST_PORT": "user:x," + secret + "@b:2"},
		{"CONFIG_GRPC_XDS_SERVER_URL": "https://" + secret + "@xds"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "authorization:" + secret},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": secret},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "<authorization:" + secret},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "a b:" + secret},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": secret + " b:x"},
		{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "a:" + secret + "\n"},
		{"REDIS_POOL_SIZE": "redis://user:" + secret + "@redis"},
		{"REDIS_PASSWORD": secret},
	} {
		if _, err := settings.Parse(environ); err != nil {
			require.NotContains(t, err.Error(), secret, "%v", environ)
		}
		for _, w := range settings.Warnings(environ) {
			require.NotContains(t, w.String(), secret)
		}
		for _, e := range settings.Effective(environ) {
			if e.Name != "KVSTORE_POOL_SIZE" { // where no secret belongs
				require.NotContains(t, e.Value, secret, "%v", environ)
			}
		}
	}
}

func TestMaskedURLs(t *testing.T) {
	for url, want := range map[string]string{
		"redis:6379":               "redis:6379",
		"redis://u:p@redis:6379/1": "redis://***@redis:6379/1",
		"u:p@redis:6379":           "***@redis:6379",
		"m,a:1,u:p@b:2":            "***@b:2",
	} {
		require.Equal(t, want, effective(environment{"REDIS_URL": url})["KVSTORE_URL"].Value)
	}
}
