package settings

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkCombinations adds errors about settings that contradict each other. Settings that
// are not in use may be incomplete.
func (r *reading) checkCombinations() {
	r.checkListeners()
	const on = "GRPC_SERVER_USE_TLS"
	r.Require(!r.GRPCServerUseTLS || r.GRPCServerTLSCert != "", on, "needs a certificate: set $GRPC_SERVER_TLS_CERT to its file, or set this to false")
	r.Require(!r.GRPCServerUseTLS || r.GRPCServerTLSKey != "", on, "needs a private key: set $GRPC_SERVER_TLS_KEY to its file, or set this to false")
	r.Require(r.AdminToken == "" || r.AdminTokenFile == "", "ADMIN_TOKEN", "must not be set together with $ADMIN_TOKEN_FILE: unset one of them")
	if r.Backend == KVStore {
		r.checkKV(&r.KVStore, "KVSTORE_")
		if r.UsePerSecond {
			r.Require(r.KVStorePerSecond.URL != "", "KVSTORE_PERSECOND",
				"needs the address of the second store: set $KVSTORE_PERSECOND_URL, or set this to false")
		}
		if r.UsePerSecond && r.KVStorePerSecond.URL != "" {
			r.checkKV(&r.KVStorePerSecond, "KVSTORE_PERSECOND_")
		}
	}
	if r.Backend == MemStore {
		r.Require(len(r.MemStoreHostPort) == 0 || r.MemStoreSRV == "", "MEMSTORE_HOST_PORT", "must not be set together with $MEMSTORE_SRV: unset one of them")
		r.Require(len(r.MemStoreHostPort) > 0 || r.MemStoreSRV != "", "BACKEND_TYPE", "is memstore, but no node is set: set $MEMSTORE_HOST_PORT or $MEMSTORE_SRV")
		r.Require(!strings.ContainsFunc(r.CacheKeyPrefix, isBlankOrControl), "CACHE_KEY_PREFIX",
			"has a blank or a control character, which keys of memcached can't have, see $BACKEND_TYPE: remove it")
	}
}

// needless are variables that some deployments set and nothing reads, and why.
var needless = map[string]string{
	"CONSOLE_TOKEN":           removed,
	"CONSOLE_TOKEN_FILE":      removed,
	"CONSOLE_RECENT_REQUESTS": removed,
	// A later version of the reference service reads this one.
	"REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR": "is not needed: when a server replies READONLY, all connections to it are closed, always; unset it",
	// Envoy Gateway sets this one, and the reference service does not read it.
	"GRPC_SERVER_TLS_CA_CERT": "is not read, as by the reference service: clients need no certificate unless GRPC_CLIENT_TLS_CACERT is set",
}

const removed = "was removed and has no effect: limit files are edited outside of the console; unset it"

// repair makes harmless combinations usable, as far as the reference service starts with them,
// and returns warnings about them.
func (r *reading) repair() {
	warn := func(id, text string) { r.repaired = r.warn(r.repaired, true, id, text) }
	if r.GRPCClientTLSSAN != "" && r.GRPCClientTLSCACert == "" {
		r.GRPCClientTLSSAN = ""
		warn("GRPC_CLIENT_TLS_SAN", "has no effect, clients need no certificate: set $GRPC_CLIENT_TLS_CACERT")
	}
	for _, pair := range []struct {
		cert, key *string
		prefix    string
	}{
		{&r.XDSClientTLSCert, &r.XDSClientTLSKey, "CONFIG_GRPC_XDS_CLIENT_TLS_"},
		{&r.KVStoreClientCert, &r.KVStoreClientKey, "KVSTORE_TLS_CLIENT_"},
		{&r.MemStoreClientCert, &r.MemStoreClientKey, "MEMSTORE_TLS_CLIENT_"},
	} {
		if (*pair.cert == "") == (*pair.key == "") {
			continue
		}
		*pair.cert, *pair.key = "", ""
		warn(pair.prefix+"CERT", "has no effect without a private key: set $"+pair.prefix+"KEY to its file")
		warn(pair.prefix+"KEY", "has no effect without a certificate: set $"+pair.prefix+"CERT to its file")
	}
	for _, order := range []struct {
		lower, upper         *time.Duration
		lowerName, upperName string
	}{
		{&r.XDSBackoffInitial, &r.XDSBackoffMax, "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "XDS_CLIENT_BACKOFF_MAX_INTERVAL"},
		{&r.KVStoreStartupInitial, &r.KVStoreStartupMax, "KVSTORE_STARTUP_INITIAL_INTERVAL", "KVSTORE_STARTUP_MAX_INTERVAL"},
		{&r.BreakerWait, &r.BreakerMaxWait, "STORE_BREAKER_WAIT", "STORE_BREAKER_MAX_WAIT"},
	} {
		if *order.lower <= *order.upper {
			continue
		}
		*order.lower = *order.upper
		if r.IsSet(order.upperName) {
			warn(order.upperName, "is below $"+order.lowerName+", which is lowered to it")
		} else {
			warn(order.lowerName, "is above $"+order.upperName+", and is lowered to it")
		}
	}
}

// warn adds a warning about a setting that is set.
func (r *reading) warn(all []Warning, when bool, id, text string) []Warning {
	if expanded, ok := r.Expand(id, text); when && ok && r.IsSet(id) {
		all = append(all, Warning{Variable: r.SetBy(id), Text: expanded})
	}
	return all
}

// listener is an address that the service opens.
type listener struct {
	name, host, port string
	settings         []string // the port's first
}

func (r *reading) checkListeners() {
	all := []listener{
		{"HTTP", r.Host, strconv.Itoa(r.Port), []string{"PORT", "HOST"}},
		{"debug", r.DebugHost, strconv.Itoa(r.DebugPort), []string{"DEBUG_PORT", "DEBUG_HOST"}},
	}
	if r.GRPCUDS == "" {
		all = append(all, listener{"gRPC", r.GRPCHost, strconv.Itoa(r.GRPCPort), []string{"GRPC_PORT", "GRPC_HOST"}})
	}
	if host, port, err := net.SplitHostPort(r.ScrapeAddr); r.UseScrape && err == nil {
		all = append(all, listener{"scrape", host, port, []string{"SCRAPE_ADDR"}})
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if r.Invalid(slices.Concat(a.settings, b.settings)...) {
				continue
			}
			culprit, other := a, b
			if !r.IsSet(r.FirstSet(a.settings...)) {
				culprit, other = b, a
			}
			same := a.port == b.port && a.port != "0" && (a.host == b.host || a.includes(b) || b.includes(a))
			r.Require(!same, r.FirstSet(culprit.settings...), "%s is also the address of the "+other.name+" listener, see $"+other.settings[0]+
				": use another port, or 0 for a free one", net.JoinHostPort(culprit.host, culprit.port))
		}
	}
}

// includes reports whether a listens on all addresses, b's among them.
func (a listener) includes(b listener) bool {
	ip, err := netip.ParseAddr(b.host)
	return a.host == "" || a.host == "::" || a.host == "0.0.0.0" && (err != nil || ip.Unmap().Is4())
}

// checkKV checks the address of a store that is in use. An invalid default is reported for
// the setting that makes it invalid.
func (r *reading) checkKV(k *KV, prefix string) {
	r.Require(k.Auth == "" || k.AuthFile == "", prefix+"AUTH", "must not be set together with $"+prefix+"AUTH_FILE: unset one of them")
	if r.Invalid(prefix+"URL", prefix+"TYPE", prefix+"SOCKET_TYPE") {
		return
	}
	shown, advice, err := k.checkURL()
	if err == nil {
		return
	}
	id := r.FirstSet(prefix+"URL", prefix+"TYPE", prefix+"SOCKET_TYPE", "BACKEND_TYPE")
	if id != prefix+"URL" {
		advice = "; this is the default of $URL: set it"
	}
	r.Require(false, id, "%s %w"+strings.ReplaceAll(advice, "$", "$"+prefix), shown, err)
}

// ineffective warns of settings that have no effect beside others.
func (r *reading) ineffective() []Warning {
	var all []Warning
	warn := func(when bool, id, text string) { all = r.warn(all, when, id, text) }
	warnEach := func(when bool, prefix, text string, ids ...string) {
		for _, id := range ids {
			warn(when, prefix+id, text)
		}
	}
	warnEach(r.GRPCUDS != "", "GRPC_", "has no effect: gRPC is served on the socket $GRPC_UDS", "HOST", "PORT")
	warnEach(!r.GRPCServerUseTLS, "GRPC_SERVER_TLS_", "has no effect: gRPC is served without TLS until $GRPC_SERVER_USE_TLS is true", "CERT", "KEY")
	warnEach(!r.GRPCServerUseTLS, "GRPC_CLIENT_TLS_", "has no effect, clients need no certificate: gRPC is served without TLS until $GRPC_SERVER_USE_TLS is true", "CACERT", "SAN")
	warnEach(!r.XDSUseTLS, "CONFIG_GRPC_XDS_", "has no effect: TLS is off until $CONFIG_GRPC_XDS_SERVER_USE_TLS is true",
		"CLIENT_TLS_CERT", "CLIENT_TLS_KEY", "SERVER_TLS_CACERT", "SERVER_TLS_SAN")
	warn(r.UseAgentStats && r.UsePushStats, "USE_AGENTSTATS", "statistics are pushed twice, in both forms: set $USE_PUSHSTATS to false for the agent alone")
	warn(!r.UseAgentStats, mogrifierList, "has no effect until $USE_AGENTSTATS is true")
	warn((r.AdminToken != "" || r.AdminTokenFile != "") && r.LogLevel == "ERROR", "LOG_LEVEL", "is ERROR: changes of counters by holders of the admin token are logged as WARN, so they are not logged")
	for _, name := range slices.Sorted(maps.Keys(needless)) {
		if r.environ[name] != "" {
			all = append(all, Warning{Variable: name, Text: needless[name]})
		}
	}
	warn(r.ScrapeMilliseconds && r.ScrapeMapperYAML != "", "SCRAPE_RESPONSE_TIME_AS_MILLISECONDS", "has no effect: $SCRAPE_MAPPER_YAML maps response times")
	const disabled = "has no effect: $DISABLE_STATS is true"
	warn(r.DisableStats && r.UsePushStats, "USE_PUSHSTATS", disabled)
	warn(r.DisableStats && r.UseAgentStats, "USE_AGENTSTATS", disabled)
	warn(r.DisableStats && r.UseScrape, "USE_SCRAPE", disabled)
	warn(r.ScrapeTopKeys > 0 && !r.TopKeys, "SCRAPE_TOP_KEYS", "has no effect: $TOP_KEYS is false")
	warn(r.Backend == KVStore && !r.IsSet("KVSTORE_URL"), "BACKEND_TYPE", "is kvstore, but $KVSTORE_URL is not set: its default is the socket "+r.KVStore.URL)
	warnEach(r.Backend != KVStore, "KVSTORE_", "has no effect: counters are "+r.Backend+", see $BACKEND_TYPE", "URL", "PERSECOND")
	warnEach(r.Backend != MemStore, "MEMSTORE_", "has no effect until $BACKEND_TYPE is memstore", "HOST_PORT", "SRV")
	files := []string{"CLIENT_CERT", "CLIENT_KEY", "CACERT", "SKIP_HOSTNAME_VERIFICATION"}
	warnEach(!r.KVStore.TLS && !r.KVStorePerSecond.TLS, "KVSTORE_TLS_", "has no effect: TLS is off until $KVSTORE_TLS is true", files...)
	warnEach(!r.MemStoreTLS, "MEMSTORE_TLS_", "has no effect: TLS is off until $MEMSTORE_TLS is true", files...)
	warn(r.KVStore.Type != Sentinel, "KVSTORE_SENTINEL_AUTH", "has no effect until $KVSTORE_TYPE is sentinel")
	warn(r.KVStorePerSecond.Type != Sentinel, "KVSTORE_PERSECOND_SENTINEL_AUTH", "has no effect until $KVSTORE_PERSECOND_TYPE is sentinel")
	warnEach(true, "KVSTORE_", "is deprecated and has no effect: unset it", "PIPELINE_LIMIT", "PERSECOND_PIPELINE_LIMIT")
	return append(all, r.repaired...)
}
