package settings

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// Parse reads the settings from environment variables. The error names every invalid
// variable, as the environment spells it, one to a line, with the accepted values. It
// shows no secrets.
func Parse(environ map[string]string) (*Settings, error) {
	r := read(environ)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.Settings, nil
}

// Default is Parse of an empty environment.
func Default() *Settings {
	s, err := Parse(nil)
	if err != nil {
		panic(err) // a default in the table is invalid
	}
	return s
}

// Variable describes a setting: its Name, Aliases, Default, Doc and Group, and whether it is a Secret.
type Variable = settings.Setting

// Table describes all settings. AGENTSTATS_MOGRIFIERS describes the variables of single
// mogrifiers, which have no rows.
func Table() []Variable {
	rows := table(&Settings{})
	for i := range rows {
		if rows[i].Group == "" {
			rows[i].Group = rows[i-1].Group
		}
	}
	return rows
}

// Entry is a setting with its effective Value, as a user would write it, and the Origin of that:
// "default", or "environment, as <variable>". Secrets are ***, and so is what precedes the host in a URL.
type Entry = settings.Effective

// Effective lists all settings with their values, in the order of Table. Settings that are
// derived from others, such as BACKEND_TYPE, show the result. Invalid values are listed
// unchanged.
func Effective(environ map[string]string) []Entry { return read(environ).Effective() }

// reading is an environment as far as it could be read.
type reading struct {
	*settings.Reading
	*Settings
	environ  map[string]string
	repaired []Warning
}

func read(environ map[string]string) *reading {
	s := &Settings{}
	r := &reading{Reading: settings.Read(table(s), environ, nil), Settings: s, environ: environ}
	r.readMogrifiers()
	r.ScrapeMapperSetting = r.Spelling("SCRAPE_MAPPER_YAML", "")
	switch {
	case r.Backend != "":
		r.BackendReason = r.Spelling("BACKEND_TYPE", "") + " is set"
	case r.IsSet("KVSTORE_URL"):
		r.Backend, r.BackendReason = KVStore, "BACKEND_TYPE is not set, but "+r.SetBy("KVSTORE_URL")+" is"
	default:
		r.Backend, r.BackendReason = Embedded, "neither BACKEND_TYPE nor KVSTORE_URL is set"
	}
	if r.CounterKeyFormat == "" {
		r.CounterKeyFormat = "reference"
		if r.Backend == Embedded { // whose counters can't be shared with the reference service
			r.CounterKeyFormat = "unambiguous"
		}
	}
	for _, k := range []*KV{&s.KVStore, &s.KVStorePerSecond} {
		if k.SocketType == "" || k.SocketType == SocketUnix && k.Type != Single {
			k.SocketType = SocketTCP
			if k.Type == Single && strings.HasPrefix(k.URL, "/") {
				k.SocketType = SocketUnix
			}
		}
	}
	r.checkCombinations()
	r.repair()
	return r
}

// Warning reports a variable that is valid, but probably does not do what was intended.
type Warning = settings.Warning

// Warnings reports settings that have no effect, and variables that look like settings and
// are not. Settings come first, then other variables by name. Invalid settings cause no
// warnings.
func Warnings(environ map[string]string) []Warning {
	r := read(environ)
	all := append(r.ineffective(), r.unusedMogrifiers()...)
	prefixes := []string{
		"USE_", "MAX_", "REQUEST_", "HEALTHY_", "FORCE_", "GRPC_", "CONFIG_GRPC_XDS_", "XDS_CLIENT_", "RUNTIME_", "TRACING_", "LIMIT_", "STATS_", "SHUTDOWN_", "EMBEDDED_",
		"KVSTORE_", "REDIS_", "MEMSTORE_", "MEMCACHE_", "SCRAPE_", "PROMETHEUS_", "PUSHSTATS_", "STATSD_", "AGENTSTATS_", "DOG_STATSD_",
	}
	return append(all, r.Unknown(prefixes, isForeign)...)
}

// isForeign reports whether the gRPC libraries or the tracing libraries read the variable,
// it belongs to a mogrifier, or another warning is about it.
func isForeign(name string) bool {
	return needless[name] != "" || mogrifierVariable.MatchString(name) || slices.Contains([]string{
		"GRPC_TRACE", "GRPC_VERBOSITY", "GRPC_BINARY_LOG_FILTER", "GRPC_ENABLE_TXT_SERVICE_CONFIG", "GRPC_ENFORCE_ALPN_ENABLED",
		"GRPC_RING_HASH_CAP", "GRPC_DNS_RESOLVER", "GRPC_POLL_STRATEGY", "GRPC_STACKTRACE_MINLOGLEVEL", "GRPC_ENABLE_FORK_SUPPORT",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "GRPC_SSL_CIPHER_SUITES",
	}, name) || slices.ContainsFunc([]string{"GRPC_GO_", "GRPC_EXPERIMENTAL_", "GRPC_XDS_", "GRPC_ALTS_", "GRPC_GCP_", "OTEL_"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
