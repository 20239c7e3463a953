package settings_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// beside returns the other variables that a setting requires.
func beside(name string) map[string]string {
	switch {
	case name == "KVSTORE_PERSECOND":
		return map[string]string{"KVSTORE_PERSECOND_URL": "redis:6380"}
	case strings.HasSuffix(name, "_CLIENT_CERT"):
		return map[string]string{strings.TrimSuffix(name, "CERT") + "KEY": "key.pem"}
	case strings.HasSuffix(name, "_CLIENT_KEY"):
		return map[string]string{strings.TrimSuffix(name, "KEY") + "CERT": "cert.pem"}
	case name == "AGENTSTATS_MOGRIFIERS":
		return map[string]string{
			"AGENTSTATS_MOGRIFIER_A_PATTERN": "a", "AGENTSTATS_MOGRIFIER_A_NAME": "b",
			"AGENTSTATS_MOGRIFIER_B_PATTERN": "a", "AGENTSTATS_MOGRIFIER_B_NAME": "b",
		}
	}
	return map[string]string{}
}

// values are two different values of a setting, the first not its default.
func values(v settings.Variable) (string, string) {
	switch v.Name {
	case "AGENTSTATS_MOGRIFIERS":
		return "A", "B"
	case "KVSTORE_URL", "KVSTORE_PERSECOND_URL", "MEMSTORE_HOST_PORT":
		return "one:1", "two:2"
	case "MEMSTORE_SRV":
		return "_memcache._tcp.one", "_memcache._tcp.two"
	case "SCRAPE_ADDR":
		return ":1", ":2"
	}
	for _, pair := range [][2]string{{"true", "false"}, {"1", "3"}, {"3s", "5s"}, {"udp", "tcp"}, {"unix", "tcp"}, {"cluster", "sentinel"}, {"WAIT", "ERROR"}, {"/a", "/b"}} {
		one, other := beside(v.Name), beside(v.Name)
		one[v.Name], other[v.Name] = pair[0], pair[1]
		s, err1 := settings.Parse(one)
		_, err2 := settings.Parse(other)
		switch {
		case err1 != nil || err2 != nil:
		case reflect.DeepEqual(s, settings.Default()):
			return pair[1], pair[0]
		default:
			return pair[0], pair[1]
		}
	}
	return "", ""
}

// Every alias has the same effect as the setting's name.
func TestAliases(t *testing.T) {
	tried := 0
	for _, v := range settings.Table() {
		for _, alias := range v.Aliases {
			one, other := values(v)
			require.NotEmpty(t, one, "no values to try %s with", v.Name)
			neutral, peer := beside(v.Name), beside(v.Name)
			neutral[v.Name], peer[alias] = one, one
			want, got := parse(t, neutral), parse(t, peer)
			require.NotEqual(t, parse(t, map[string]string{}), want, "%s=%s has no effect", v.Name, one)
			want.BackendReason, got.BackendReason = "", "" // which name the variable
			want.ScrapeMapperSetting, got.ScrapeMapperSetting = "", ""
			require.Equal(t, want, got, "%s is not %s", alias, v.Name)

			neutral[alias] = one
			got = parse(t, neutral)
			got.BackendReason, got.ScrapeMapperSetting = "", ""
			require.Equal(t, want, got, "the same value twice is fine")

			neutral[alias] = other
			lines := refused(t, neutral)
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], v.Name+", "+alias+": two names of one setting")
			tried++
		}
	}
	require.Greater(t, tried, 40)
}

func TestErrorsAreAboutTheNameInUse(t *testing.T) {
	for _, tt := range []struct {
		environ environment
		want    string
	}{
		{environment{"REDIS_POOL_SIZE": "x"}, "REDIS_POOL_SIZE"},
		{environment{"REDIS_URL": "a:1", "REDIS_PERSECOND": "true"}, "REDIS_PERSECOND REDIS_PERSECOND_URL"},
		{environment{"REDIS_URL": "a:1", "KVSTORE_PERSECOND": "true"}, "KVSTORE_PERSECOND KVSTORE_PERSECOND_URL"},
	} {
		requireNames(t, tt.want, refused(t, tt.environ)[0])
	}
}
