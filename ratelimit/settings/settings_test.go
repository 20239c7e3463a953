package settings_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

func TestDefaultsAreThoseOfTheSpecification(t *testing.T) {
	s := settings.Default()
	require.Equal(t, "0.0.0.0", s.Host)
	require.Equal(t, 8080, s.Port)
	require.Equal(t, "0.0.0.0", s.GRPCHost)
	require.Equal(t, 8081, s.GRPCPort)
	require.Equal(t, 24*time.Hour, s.GRPCMaxConnectionAge)
	require.Equal(t, time.Hour, s.GRPCMaxConnectionAgeGrace)
	require.Equal(t, "/srv/runtime_data/current", s.RuntimeRoot)
	require.Equal(t, "", s.RuntimeSubdirectory)
	require.Equal(t, "config", s.RuntimeAppDirectory)
	require.False(t, s.RuntimeIgnoreDotFiles)
	require.InDelta(t, 0.8, s.NearLimitRatio, 1e-6)
	require.EqualValues(t, 300, s.ExpirationJitter)
	require.Zero(t, s.LocalCacheSize)
	require.Equal(t, "RateLimit-Limit", s.LimitHeader)
	require.Equal(t, "RateLimit-Remaining", s.RemainingHeader)
	require.Equal(t, "RateLimit-Reset", s.ResetHeader)
	require.Equal(t, "WARN", s.LogLevel)
	require.Equal(t, 30*time.Second, s.ShutdownTimeout)
}

func TestParse(t *testing.T) {
	s, err := settings.Parse(map[string]string{
		"PORT": "0", "GRPC_PORT": "9081", "SHADOW_MODE": "true", "NEAR_LIMIT_RATIO": "0",
		"SHUTDOWN_DRAIN_DELAY": "1500ms", "RUNTIME_ROOT": "/etc/limits", "SOMETHING_ELSE": "x",
	})
	require.NoError(t, err)
	require.Zero(t, s.Port)
	require.Equal(t, 9081, s.GRPCPort)
	require.True(t, s.ShadowMode)
	require.Zero(t, s.NearLimitRatio)
	require.Equal(t, 1500*time.Millisecond, s.ShutdownDrainDelay)
	require.Equal(t, "/etc/limits", s.RuntimeRoot)
}

// Each bad value is named with its variable, and all of them at once.
func TestBadValues(t *testing.T) {
	unparsable := map[string]string{"PORT": "http", "SHADOW_MODE": "perhaps", "SHUTDOWN_TIMEOUT": "30", "NEAR_LIMIT_RATIO": "most"}
	senseless := map[string]string{
		"PORT": "70000", "GRPC_PORT": "-1", "NEAR_LIMIT_RATIO": "1.5", "LOCAL_CACHE_SIZE_IN_BYTES": "-1",
		"EMBEDDED_MAX_BYTES": "10", "BACKEND_TYPE": "sqlite", "LOG_LEVEL": "LOUD", "LOG_FORMAT": "xml",
		"GRPC_MAX_CONNECTION_AGE": "-1s", "SHUTDOWN_DRAIN_DELAY": "-1s", "SHUTDOWN_TIMEOUT": "0s",
	}
	for _, environ := range []map[string]string{unparsable, senseless, {"PORT": "8081"}, {"NEAR_LIMIT_RATIO": "NaN"}, {"REDIS_URL": "redis:6379"}, {"KVSTORE_URL": "redis:6379"}} {
		_, err := settings.Parse(environ)
		require.Error(t, err, "%v", environ)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, len(environ), "one line for each bad variable:\n%v", err)
		for name := range environ {
			require.Contains(t, "\n"+err.Error(), "\n"+name+": ")
		}
	}
}

func TestCountersInProcessOnPurpose(t *testing.T) {
	_, err := settings.Parse(map[string]string{"REDIS_URL": "redis:6379", "BACKEND_TYPE": "embedded"})
	require.NoError(t, err)
}

// Every row of the table can be set, and the process's environment is not read.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range settings.Table() {
		require.NotEmpty(t, v.Name)
		require.NotEmpty(t, v.Doc, v.Name)
		require.False(t, seen[v.Name], "%s is there twice", v.Name)
		seen[v.Name] = true
		_, err := settings.Parse(map[string]string{v.Name: v.Default})
		require.NoError(t, err, "%s does not take its own default %q", v.Name, v.Default)
	}
	t.Setenv("PORT", "not a number")
	require.NotEmpty(t, os.Getenv("PORT"))
	_, err := settings.Parse(nil)
	require.NoError(t, err)
}
