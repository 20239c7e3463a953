package settings

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
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
	const short = 8 // up to this many letters other software has names like ours
	ours, edits := beginsLikeOurs(name), 1
	switch {
	case ours:
		edits = max(1, min(3, len(name)/5))
	case len(name) <= short || name != strings.ToUpper(name):
		return ""
	}
	if meant := suggest.Closest(name, known, edits); meant != "" {
		return "is not a setting: did you mean " + meant + "?"
	}
	if ours {
		return "is not a setting"
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
