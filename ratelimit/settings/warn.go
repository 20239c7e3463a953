package settings

import (
	"maps"
	"slices"
	"strings"
)

// Warning is about a variable that is not wrong, but hardly does what its author
// had in mind.
type Warning struct {
	Variable string // its name, as the environment has it
	Text     string // what there is to say; half a sentence or more, on one line
}

// String is "<variable>: <text>".
func (w Warning) String() string { return w.Variable + ": " + w.Text }

// Warnings are about variables that look like settings and are none, and about
// settings that are set without effect. First come the settings, then other
// variables by name. It works for an environment with errors too.
func Warnings(environ map[string]string) []Warning {
	r := read(environ)
	w := &warnings{reading: r}
	w.listeners()
	w.discovery()
	w.statistics()
	w.stores()
	w.mogrifiers()
	return append(w.all, r.unknown()...)
}

type warnings struct {
	*reading
	all []Warning
}

// warn adds a warning about a setting if the environment has it.
func (w *warnings) warn(when bool, name, text string) {
	if told, ok := w.tell(name, text); when && ok && w.isSet(name) {
		w.all = append(w.all, Warning{w.spelled[name], told})
	}
}

func (w *warnings) listeners() {
	s := w.settings
	const uds = "has no effect: gRPC is served on the socket $GRPC_UDS"
	w.warn(s.GRPCUDS != "", "GRPC_HOST", uds)
	w.warn(s.GRPCUDS != "", "GRPC_PORT", uds)
	for _, name := range []string{"GRPC_SERVER_TLS_CERT", "GRPC_SERVER_TLS_KEY"} {
		w.warn(!s.GRPCServerUseTLS, name, "has no effect: gRPC is served without TLS until $GRPC_SERVER_USE_TLS is true")
	}
}

func (w *warnings) discovery() {
	for _, name := range []string{
		"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "CONFIG_GRPC_XDS_CLIENT_TLS_KEY",
		"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "CONFIG_GRPC_XDS_SERVER_TLS_SAN",
	} {
		w.warn(!w.settings.XDSUseTLS, name, "has no effect: TLS is off until $CONFIG_GRPC_XDS_SERVER_USE_TLS is true")
	}
}

func (w *warnings) statistics() {
	s := w.settings
	w.warn(s.UseAgentStats && s.UsePushStats, "USE_AGENTSTATS", "statistics are pushed twice, in both forms: set $USE_PUSHSTATS to false for the agent alone")
	w.warn(!s.UseAgentStats, mogrifierList, "has no effect until $USE_AGENTSTATS is true")
	w.warn(s.ScrapeMilliseconds && s.ScrapeMapperYAML != "", "SCRAPE_RESPONSE_TIME_AS_MILLISECONDS", "has no effect: $SCRAPE_MAPPER_YAML maps response times")
	const disabled = "has no effect: $DISABLE_STATS is true"
	w.warn(s.DisableStats && s.UsePushStats, "USE_PUSHSTATS", disabled)
	w.warn(s.DisableStats && s.UseAgentStats, "USE_AGENTSTATS", disabled)
	w.warn(s.DisableStats && s.UseScrape, "USE_SCRAPE", disabled)
}

func (w *warnings) stores() {
	s := w.settings
	w.warn(s.Backend == KVStore && !w.isSet("KVSTORE_URL"), "BACKEND_TYPE", "is kvstore, and $KVSTORE_URL is not set: that is the socket "+s.KVStore.URL)
	w.warn(s.Backend != KVStore, "KVSTORE_URL", "has no effect: counters are "+s.Backend+", see $BACKEND_TYPE")
	w.warn(s.Backend != KVStore, "KVSTORE_PERSECOND", "has no effect: counters are "+s.Backend+", see $BACKEND_TYPE")
	const elsewhere = "has no effect until $BACKEND_TYPE is memstore"
	w.warn(s.Backend != MemStore, "MEMSTORE_HOST_PORT", elsewhere)
	w.warn(s.Backend != MemStore, "MEMSTORE_SRV", elsewhere)
	w.tls("KVSTORE_TLS_", "KVSTORE_TLS", s.KVStore.TLS || s.KVStorePerSecond.TLS)
	w.tls("MEMSTORE_TLS_", "MEMSTORE_TLS", s.MemStoreTLS)
	w.keyValue(&s.KVStore, "KVSTORE_")
	w.keyValue(&s.KVStorePerSecond, "KVSTORE_PERSECOND_")
}

func (w *warnings) tls(prefix, on string, isOn bool) {
	for _, name := range []string{"CLIENT_CERT", "CLIENT_KEY", "CACERT", "SKIP_HOSTNAME_VERIFICATION"} {
		w.warn(!isOn, prefix+name, "has no effect: TLS is off until $"+on+" is true")
	}
}

func (w *warnings) keyValue(k *KV, prefix string) {
	w.warn(k.Type != Sentinel, prefix+"SENTINEL_AUTH", "has no effect until $"+prefix+"TYPE is sentinel")
	w.warn(true, prefix+"PIPELINE_LIMIT", "is deprecated and has no effect: unset it")
}

// mogrifiers warns of those that nobody has listed.
func (w *warnings) mogrifiers() {
	listed := map[string]bool{}
	for _, name := range w.settings.AgentMogrifiers {
		for _, part := range mogrifierParts() {
			for _, variable := range mogrifierVariables(name, part) {
				listed[variable] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.environ)) {
		if isMogrifier(name) && !listed[name] {
			w.all = append(w.all, Warning{name, "has no effect: the mogrifier is not in the list " + w.spelling(mogrifierList, "")})
		}
	}
}

func mogrifierParts() []string { return []string{"PATTERN", "NAME", "TAGS"} }

// isMogrifier is whether a variable belongs to a single mogrifier.
func isMogrifier(name string) bool {
	for _, prefix := range mogrifierPrefixes() {
		for _, part := range mogrifierParts() {
			if len(name) > len(prefix)+len(part)+1 && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, "_"+part) {
				return true
			}
		}
	}
	return false
}
