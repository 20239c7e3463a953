package settings

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// unknown warns of variables that look like settings and are none.
func (r *reading) unknown() []Warning {
	var known []string
	for i := range r.rows {
		known = append(known, r.rows[i].names()...)
	}
	var all []Warning
	for _, name := range slices.Sorted(maps.Keys(r.environ)) {
		if slices.Contains(known, name) || isMogrifier(name) || isForeign(name, r.environ[name]) {
			continue
		}
		if text := suspect(name, known); text != "" {
			all = append(all, Warning{name, text})
		}
	}
	return all
}

// suspect says what is wrong with a name that is no setting. Of names that do not
// begin like ours, only those with one slip are meant for us.
func suspect(name string, known []string) string {
	meant, slips := nearest(name, known)
	if beginsLikeOurs(name) {
		if meant != "" {
			return "is not a setting: did you mean " + meant + "?"
		}
		return "is not a setting"
	}
	const short = 8 // below this many letters other software has names like ours
	if slips <= 1 && meant != "" && len(name) > short {
		return "is not a setting: did you mean " + meant + "?"
	}
	return ""
}

func beginsLikeOurs(name string) bool {
	return slices.ContainsFunc([]string{
		"GRPC_", "CONFIG_GRPC_XDS_", "XDS_CLIENT_", "RUNTIME_", "TRACING_", "LIMIT_", "STATS_", "SHUTDOWN_", "EMBEDDED_",
		"KVSTORE_", "REDIS_", "MEMSTORE_", "MEMCACHE_", "SCRAPE_", "PROMETHEUS_", "PUSHSTATS_", "STATSD_", "AGENTSTATS_", "DOG_STATSD_",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isForeign is whether other software has such a variable: the gRPC libraries,
// the standard variables of tracing, and Kubernetes, which sets some for each
// service, whatever its name.
func isForeign(name, value string) bool {
	if isServiceLink(value) && strings.HasSuffix(name, "_PORT") || regexp.MustCompile(serviceLinks).MatchString(name) {
		return true
	}
	if slices.Contains([]string{
		"GRPC_TRACE", "GRPC_VERBOSITY", "GRPC_BINARY_LOG_FILTER", "GRPC_ENABLE_TXT_SERVICE_CONFIG", "GRPC_ENFORCE_ALPN_ENABLED",
		"GRPC_RING_HASH_CAP", "GRPC_DNS_RESOLVER", "GRPC_POLL_STRATEGY", "GRPC_STACKTRACE_MINLOGLEVEL", "GRPC_ENABLE_FORK_SUPPORT",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "GRPC_SSL_CIPHER_SUITES",
	}, name) {
		return true
	}
	return slices.ContainsFunc([]string{"GRPC_GO_", "GRPC_EXPERIMENTAL_", "GRPC_XDS_", "GRPC_ALTS_", "GRPC_GCP_", "OTEL_"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// serviceLinks is what Kubernetes calls the variables of a service.
const serviceLinks = `_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`

// nearest finds the known name that is the fewest slips away, if they are few for
// the length of the name.
func nearest(name string, known []string) (meant string, slips int) {
	const longest = 100
	if len(name) > longest {
		return "", longest
	}
	slips = max(1, min(3, len(name)/5)) + 1
	for _, k := range known {
		if n := distance(name, k); n < slips {
			meant, slips = k, n
		}
	}
	return meant, slips
}

// distance counts the letters to insert, drop, replace or swap with their
// neighbour that make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
