package settings

import "time"

// Settings are what the service is told by its environment. Each field's tags
// name its variable, its default, its bounds and what it means; the package's
// documentation has the list of tags. Fields without tags are worked out.
type Settings struct {
	// Listeners.
	Host                      string        `group:"Listeners" env:"HOST" envDefault:"0.0.0.0" empty:"text" shape:"host" doc:"address of the HTTP listener; empty for all"`
	Port                      int           `env:"PORT" envDefault:"8080" min:"0" max:"65535" doc:"port of the HTTP listener; 0 picks a free one"`
	DebugHost                 string        `env:"DEBUG_HOST" envDefault:"0.0.0.0" empty:"text" shape:"host" doc:"address of the debug listener; empty for all"`
	DebugPort                 int           `env:"DEBUG_PORT" envDefault:"6070" min:"0" max:"65535" doc:"port of the debug listener; 0 picks a free one"`
	GRPCHost                  string        `env:"GRPC_HOST" envDefault:"0.0.0.0" empty:"text" shape:"host" doc:"address of the gRPC listener; empty for all"`
	GRPCPort                  int           `env:"GRPC_PORT" envDefault:"8081" min:"0" max:"65535" doc:"port of the gRPC listener; 0 picks a free one"`
	GRPCUDS                   string        `env:"GRPC_UDS" shape:"socket" doc:"path of a unix socket for gRPC, in place of GRPC_HOST and GRPC_PORT"`
	GRPCMaxConnectionAge      time.Duration `env:"GRPC_MAX_CONNECTION_AGE" envDefault:"24h" min:"0s" doc:"age at which a connection is asked to close, with a jitter of 10% either way; 0 for never"`
	GRPCMaxConnectionAgeGrace time.Duration `env:"GRPC_MAX_CONNECTION_AGE_GRACE" envDefault:"1h" min:"0s" doc:"how long calls may go on after that; 0 for as long as they take"`

	// TLS of the gRPC listener.
	GRPCServerUseTLS    bool   `group:"TLS of the gRPC listener" env:"GRPC_SERVER_USE_TLS" envDefault:"false" doc:"serve gRPC over TLS"`
	GRPCServerTLSCert   string `env:"GRPC_SERVER_TLS_CERT" doc:"file of the server's certificate chain"`
	GRPCServerTLSKey    string `env:"GRPC_SERVER_TLS_KEY" doc:"file of the server's private key"`
	GRPCClientTLSCACert string `env:"GRPC_CLIENT_TLS_CACERT" doc:"file of the authorities that sign client certificates; clients then need one"`
	GRPCClientTLSSAN    string `env:"GRPC_CLIENT_TLS_SAN" doc:"DNS name that a client's certificate has to have"`

	// Log.
	LogLevel  string `group:"Log" env:"LOG_LEVEL" envDefault:"WARN" oneof:"DEBUG=TRACE INFO WARN=WARNING ERROR=FATAL=PANIC" doc:"DEBUG, INFO, WARN or ERROR"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"text" oneof:"text json" doc:"text or json"`

	// Source of the configuration. ConfigType is File or GRPCXDSSOTW.
	ConfigType string `group:"Configuration" env:"CONFIG_TYPE" envDefault:"FILE" oneof:"FILE GRPC_XDS_SOTW" doc:"where the configuration comes from: FILE, or GRPC_XDS_SOTW for a configuration server"`
	// ForceStart starts without a valid configuration.
	ForceStart            bool   `env:"FORCE_START_WITHOUT_INITIAL_CONFIG" envDefault:"false" doc:"start even if the configuration can't be loaded"`
	HealthyWithConfig     bool   `env:"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED" envDefault:"false" doc:"be healthy only while at least one domain is loaded"`
	RuntimeRoot           string `env:"RUNTIME_ROOT" envDefault:"/srv/runtime_data/current" doc:"directory of the configuration"`
	RuntimeSubdirectory   string `env:"RUNTIME_SUBDIRECTORY" doc:"directory below RUNTIME_ROOT"`
	RuntimeAppDirectory   string `env:"RUNTIME_APPDIRECTORY" envDefault:"config" empty:"text" doc:"directory below RUNTIME_SUBDIRECTORY; all files in it are read"`
	RuntimeIgnoreDotFiles bool   `env:"RUNTIME_IGNOREDOTFILES" envDefault:"false" doc:"leave out files and directories whose name begins with a dot"`
	RuntimeWatchRoot      bool   `env:"RUNTIME_WATCH_ROOT" envDefault:"true" doc:"load again when RUNTIME_ROOT, a symbolic link, is swapped; false: when a file changes"`
	MergeDomainConfig     bool   `env:"MERGE_DOMAIN_CONFIG" envDefault:"false" doc:"let several files describe one domain"`

	// Configuration server.
	XDSNodeID         string            `group:"Configuration server" env:"CONFIG_GRPC_XDS_NODE_ID" envDefault:"default" doc:"node id that is sent to the configuration server"`
	XDSNodeMetadata   map[string]string `env:"CONFIG_GRPC_XDS_NODE_METADATA" sep:"=" doc:"node metadata, k1=v1,k2=v2"`
	XDSServerURL      string            `env:"CONFIG_GRPC_XDS_SERVER_URL" envDefault:"localhost:18000" shape:"target" secret:"url" doc:"address of the configuration server"`
	XDSRetryInterval  time.Duration     `env:"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL" envDefault:"3s" min:"0s" doc:"wait between attempts to connect to it until it has been reached; 0 is the same as 3s"`
	XDSHeaders        []Pair            `env:"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS" sep:":" shape:"header" secret:"true" doc:"headers for requests to it, <k1:v1>,<k2:v2>; the angle brackets may be left out"`
	XDSUseTLS         bool              `env:"CONFIG_GRPC_XDS_SERVER_USE_TLS" envDefault:"false" doc:"connect to it over TLS"`
	XDSClientTLSCert  string            `env:"CONFIG_GRPC_XDS_CLIENT_TLS_CERT" doc:"file of the client certificate for it"`
	XDSClientTLSKey   string            `env:"CONFIG_GRPC_XDS_CLIENT_TLS_KEY" doc:"file of the private key of that"`
	XDSServerCACert   string            `env:"CONFIG_GRPC_XDS_SERVER_TLS_CACERT" doc:"file of the authorities that sign its certificate; empty: those of the system"`
	XDSServerSAN      string            `env:"CONFIG_GRPC_XDS_SERVER_TLS_SAN" doc:"DNS name that its certificate has to have, in place of the host's"`
	XDSBackoffInitial time.Duration     `env:"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL" envDefault:"10s" above:"0s" doc:"wait before the first attempt to reconnect"`
	XDSBackoffMax     time.Duration     `env:"XDS_CLIENT_BACKOFF_MAX_INTERVAL" envDefault:"60s" above:"0s" doc:"upper bound of that wait"`
	XDSBackoffFactor  float64           `env:"XDS_CLIENT_BACKOFF_RANDOM_FACTOR" envDefault:"0.5" above:"0" max:"100" doc:"by how much the wait grows each time"`
	XDSBackoffJitter  bool              `env:"XDS_CLIENT_BACKOFF_JITTER" envDefault:"true" doc:"add jitter to the wait"`
	XDSMaxMessageSize int               `env:"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES" envDefault:"0" min:"0" max:"2147483647" doc:"largest message that is accepted from it, in bytes; 0 for 4 MiB"`

	// Statistics.
	DisableStats       bool          `group:"Statistics" env:"DISABLE_STATS" envDefault:"false" doc:"take statistics nowhere but to the debug port, whatever the settings below say"`
	StatsFlushInterval time.Duration `env:"STATS_FLUSH_INTERVAL" envDefault:"10s" above:"0s" doc:"how often statistics are pushed"`
	ExtraTags          []Pair        `env:"EXTRA_TAGS" sep:":" shape:"tag" doc:"tags of every statistic, <k1:v1>,<k2:v2>; the angle brackets may be left out"`
	UsePushStats       bool          `env:"USE_PUSHSTATS" alias:"USE_STATSD" envDefault:"true" doc:"push statistics; false writes them to standard output, unless they go to an agent or are scraped"`
	PushStatsHost      string        `env:"PUSHSTATS_HOST" alias:"STATSD_HOST" envDefault:"localhost" shape:"host" doc:"host to push statistics to"`
	PushStatsPort      int           `env:"PUSHSTATS_PORT" alias:"STATSD_PORT" envDefault:"8125" min:"1" max:"65535" doc:"port to push statistics to"`
	PushStatsProtocol  string        `env:"PUSHSTATS_PROTOCOL" alias:"STATSD_PROTOCOL" envDefault:"tcp" oneof:"tcp udp" doc:"tcp or udp"`
	UseAgentStats      bool          `env:"USE_AGENTSTATS" alias:"USE_DOG_STATSD" envDefault:"false" doc:"push statistics to an agent that knows tags, at PUSHSTATS_HOST and PUSHSTATS_PORT"`
	AgentMogrifiers    []string      `env:"AGENTSTATS_MOGRIFIERS" alias:"USE_AGENTSTATS_MOGRIFIERS USE_DOG_STATSD_MOGRIFIERS DOG_STATSD_MOGRIFIERS" doc:"names, N1,N2, of rewritings for the agent, the first that matches wins; each N has AGENTSTATS_MOGRIFIER_N_PATTERN (regular expression), _NAME and _TAGS (k1:v1,k2:v2), in which $1 is a group of the pattern"`
	UseScrape          bool          `env:"USE_SCRAPE" alias:"USE_PROMETHEUS" envDefault:"false" doc:"serve metrics to be scraped"`
	ScrapeAddr         string        `env:"SCRAPE_ADDR" alias:"PROMETHEUS_ADDR" envDefault:":9090" shape:"address" doc:"address of the scrape listener, host:port; port 0 picks a free one"`
	ScrapePath         string        `env:"SCRAPE_PATH" alias:"PROMETHEUS_PATH" envDefault:"/metrics" shape:"path" doc:"path of the metrics"`
	ScrapeMapperYAML   string        `env:"SCRAPE_MAPPER_YAML" alias:"PROMETHEUS_MAPPER_YAML" doc:"file that maps statistics to metrics, in place of the built-in mapping"`
	ScrapeMilliseconds bool          `env:"SCRAPE_RESPONSE_TIME_AS_MILLISECONDS" alias:"PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS" envDefault:"false" doc:"keep response times in milliseconds; not with a mapping file"`
	// Mogrifiers are what AGENTSTATS_MOGRIFIERS names, in its order.
	Mogrifiers []Mogrifier

	// Counting.
	CacheKeyPrefix   string  `group:"Counting" env:"CACHE_KEY_PREFIX" doc:"goes before the name of every counter"`
	ExpirationJitter int64   `env:"EXPIRATION_JITTER_MAX_SECONDS" envDefault:"300" max:"31536000" doc:"by how many seconds at the most a counter may outlive its window; 0 or less for none"`
	NearLimitRatio   float32 `env:"NEAR_LIMIT_RATIO" envDefault:"0.8" min:"0" max:"1" doc:"part of a limit above which hits count as near it, 0 to 1"`
	LocalCacheSize   int     `env:"LOCAL_CACHE_SIZE_IN_BYTES" alias:"LocalCacheSizeInBytes" envDefault:"0" min:"0" doc:"size of the cache of counters over their limit; 0 for none"`
	StopIncrement    bool    `env:"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT" envDefault:"false" doc:"when one descriptor of a request is over its limit, leave the counters of the others as they are; in one step with embedded counters and with one key-value store, else by reading first"`
	ShadowMode       bool    `env:"SHADOW_MODE" envDefault:"false" doc:"answer OK whatever the limits say"`
	QuotaMode        bool    `env:"QUOTA_MODE" envDefault:"false" doc:"treat every rule as one in quota mode"`

	// Answers.
	DynamicMetadata bool   `group:"Answers" env:"RESPONSE_DYNAMIC_METADATA" envDefault:"false" doc:"add the request and the metadata of passed rules to answers"`
	ResponseHeaders bool   `env:"LIMIT_RESPONSE_HEADERS_ENABLED" envDefault:"false" doc:"add the tightest limit to the response headers"`
	LimitHeader     string `env:"LIMIT_LIMIT_HEADER" envDefault:"RateLimit-Limit" shape:"header" doc:"name of the header with the limit"`
	RemainingHeader string `env:"LIMIT_REMAINING_HEADER" envDefault:"RateLimit-Remaining" shape:"header" doc:"name of the header with what is left"`
	ResetHeader     string `env:"LIMIT_RESET_HEADER" envDefault:"RateLimit-Reset" shape:"header" doc:"name of the header with the seconds until the window ends"`

	// Counter stores. Backend is Embedded, KVStore or MemStore.
	Backend          string `group:"Counter stores" env:"BACKEND_TYPE" oneof:"embedded kvstore=redis memstore=memcache" doc:"where counters live: embedded (in this process), kvstore (or redis) or memstore (or memcache); unset: kvstore if KVSTORE_URL is set, else embedded"`
	EmbeddedMaxBytes int64  `env:"EMBEDDED_MAX_BYTES" envDefault:"536870912" min:"1048576" doc:"most memory for embedded counters; when it is full, new keys share counters (ours)"`
	OnStoreFailure   string `env:"ON_STORE_FAILURE" envDefault:"error" oneof:"error allow deny local" doc:"what becomes of a descriptor whose counter can't be reached: error (the call fails), allow, deny, or local (it is counted in this process); a rule's on_store_failure goes before it (ours)"`
	// A breaker stands before stores that are not embedded.
	BreakerFailures int           `env:"STORE_BREAKER_FAILURES" envDefault:"10" min:"0" max:"1000000" doc:"after how many failures in a row calls to the store are held off; 0 for never (ours)"`
	BreakerWait     time.Duration `env:"STORE_BREAKER_WAIT" envDefault:"1s" above:"0s" doc:"how long, before one call tries again (ours)"`
	BreakerMaxWait  time.Duration `env:"STORE_BREAKER_MAX_WAIT" envDefault:"10s" above:"0s" doc:"upper bound of that wait, which doubles with each try (ours)"`
	// BackendReason is why Backend is what it is, as half a sentence for a log.
	BackendReason string

	// Key-value store.
	KVStore                  KV            `group:"Key-value store" env:"KVSTORE_" alias:"REDIS_" envDefault:"URL=/var/run/nutcracker/ratelimit.sock"`
	KVStoreClientCert        string        `env:"KVSTORE_TLS_CLIENT_CERT" alias:"REDIS_TLS_CLIENT_CERT" doc:"file of the client certificate for the store, and for the one of per-second limits"`
	KVStoreClientKey         string        `env:"KVSTORE_TLS_CLIENT_KEY" alias:"REDIS_TLS_CLIENT_KEY" doc:"file of the private key of that"`
	KVStoreCACert            string        `env:"KVSTORE_TLS_CACERT" alias:"REDIS_TLS_CACERT" doc:"file of the authorities that sign the store's certificate; empty: those of the system"`
	KVStoreSkipHostname      bool          `env:"KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION" alias:"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION" envDefault:"false" doc:"do not compare the store's certificate with its host name"`
	KVStoreHealthCheck       bool          `env:"KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION" alias:"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION" envDefault:"false" doc:"be healthy only while there is a connection to the store"`
	KVStoreStartupInitial    time.Duration `env:"KVSTORE_STARTUP_INITIAL_INTERVAL" alias:"REDIS_STARTUP_INITIAL_INTERVAL" envDefault:"1s" above:"0s" doc:"at start, first wait between attempts to connect"`
	KVStoreStartupMax        time.Duration `env:"KVSTORE_STARTUP_MAX_INTERVAL" alias:"REDIS_STARTUP_MAX_INTERVAL" envDefault:"30s" above:"0s" doc:"upper bound of that wait"`
	KVStoreStartupMaxElapsed time.Duration `env:"KVSTORE_STARTUP_MAX_ELAPSED_TIME" alias:"REDIS_STARTUP_MAX_ELAPSED_TIME" envDefault:"0" min:"0s" doc:"when to give up; 0 for never"`

	// Second key-value store, for limits per second. UsePerSecond turns it on.
	UsePerSecond     bool `group:"Key-value store of per-second limits" env:"KVSTORE_PERSECOND" alias:"REDIS_PERSECOND" envDefault:"false" doc:"count limits per second in a store of their own"`
	KVStorePerSecond KV   `env:"KVSTORE_PERSECOND_" alias:"REDIS_PERSECOND_"`

	// Memory-cache store.
	MemStoreHostPort     []string      `group:"Memory-cache store" env:"MEMSTORE_HOST_PORT" alias:"MEMCACHE_HOST_PORT" shape:"node" secret:"url" doc:"its nodes, host:port,host:port, the same in every instance of the service"`
	MemStoreMaxIdleConns int           `env:"MEMSTORE_MAX_IDLE_CONNS" alias:"MEMCACHE_MAX_IDLE_CONNS" envDefault:"2" min:"0" doc:"idle connections that are kept to each node; 0 is the same as 2"`
	MemStoreSRV          string        `env:"MEMSTORE_SRV" alias:"MEMCACHE_SRV" shape:"srv" doc:"SRV record, _service._proto.name, of its nodes, in place of MEMSTORE_HOST_PORT"`
	MemStoreSRVRefresh   time.Duration `env:"MEMSTORE_SRV_REFRESH" alias:"MEMCACHE_SRV_REFRESH" envDefault:"0" min:"0s" doc:"how often the record is looked up again; 0 for never"`
	MemStoreTLS          bool          `env:"MEMSTORE_TLS" alias:"MEMCACHE_TLS" envDefault:"false" doc:"connect over TLS"`
	MemStoreClientCert   string        `env:"MEMSTORE_TLS_CLIENT_CERT" alias:"MEMCACHE_TLS_CLIENT_CERT" doc:"file of the client certificate"`
	MemStoreClientKey    string        `env:"MEMSTORE_TLS_CLIENT_KEY" alias:"MEMCACHE_TLS_CLIENT_KEY" doc:"file of the private key of that"`
	MemStoreCACert       string        `env:"MEMSTORE_TLS_CACERT" alias:"MEMCACHE_TLS_CACERT" doc:"file of the authorities that sign the nodes' certificates; empty: those of the system"`
	MemStoreSkipHostname bool          `env:"MEMSTORE_TLS_SKIP_HOSTNAME_VERIFICATION" alias:"MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION" envDefault:"false" doc:"do not compare the nodes' certificates with their host names"`

	// Tracing.
	TracingEnabled           bool    `group:"Tracing" env:"TRACING_ENABLED" envDefault:"false" doc:"export OTLP traces; the standard OTEL_EXPORTER_OTLP_* variables say where to"`
	TracingExporterProtocol  string  `env:"TRACING_EXPORTER_PROTOCOL" envDefault:"http" oneof:"http grpc" doc:"http or grpc"`
	TracingServiceName       string  `env:"TRACING_SERVICE_NAME" envDefault:"RateLimit" doc:"service name of the traces"`
	TracingServiceNamespace  string  `env:"TRACING_SERVICE_NAMESPACE" doc:"service namespace of the traces"`
	TracingServiceInstanceID string  `env:"TRACING_SERVICE_INSTANCE_ID" doc:"service instance of the traces; empty for a random version 4 UUID"`
	TracingSamplingRate      float64 `env:"TRACING_SAMPLING_RATE" envDefault:"1" min:"0" max:"1" doc:"part of the traces that is exported, 0 to 1"`

	// Shutdown.
	ShutdownDrainDelay time.Duration `group:"Shutdown" env:"SHUTDOWN_DRAIN_DELAY" envDefault:"0s" min:"0s" doc:"how long to serve on, unhealthy, after SIGTERM (ours)"`
	ShutdownTimeout    time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"30s" above:"0s" doc:"how long calls under way may then take, above 0 (ours)"`
}

// Sources of configuration.
const (
	File        = "FILE"          // the files below RUNTIME_ROOT
	GRPCXDSSOTW = "GRPC_XDS_SOTW" // an aggregated discovery server
)

// Backends.
const (
	Embedded = "embedded" // counters in the process itself
	KVStore  = "kvstore"  // counters in a key-value store
	MemStore = "memstore" // counters in a memory-cache store
)
