package settings

import (
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// table returns a row for each setting, bound to the fields of s.
func table(s *Settings) []settings.Setting {
	port, positive := settings.From(1, 65535), settings.Above[time.Duration](0)
	freePort, notNegative := settings.From(0, 65535), settings.AtLeast[time.Duration](0)
	host := settings.CheckHost
	return slices.Concat([]settings.Setting{
		{Group: "Listeners", Name: "HOST", Default: "0.0.0.0", Empty: true, Doc: "address of the HTTP listener; empty listens on all addresses", Value: settings.Text(&s.Host, host)},
		{Name: "PORT", Default: "8080", Doc: "port of the HTTP listener; 0 picks a free one", Value: settings.Int(&s.Port, freePort)},
		{Name: "DEBUG_HOST", Default: "127.0.0.1", Empty: true, Doc: "address of the debug listener, whose pages have no authentication; empty listens on all addresses", Value: settings.Text(&s.DebugHost, host)},
		{Name: "DEBUG_PORT", Default: "6070", Doc: "port of the debug listener; 0 picks a free one", Value: settings.Int(&s.DebugPort, freePort)},
		{Name: "DEBUG_CONSOLE", Default: "true", Doc: "serve pages about rules, rates and health at /console/ of the debug listener, from which requests can be sent that count (extension)", Value: settings.Bool(&s.DebugConsole)},
		{Name: "GRPC_HOST", Default: "0.0.0.0", Empty: true, Doc: "address of the gRPC listener; empty listens on all addresses", Value: settings.Text(&s.GRPCHost, host)},
		{Name: "GRPC_PORT", Default: "8081", Doc: "port of the gRPC listener; 0 picks a free one", Value: settings.Int(&s.GRPCPort, freePort)},
		{Name: "GRPC_UDS", Doc: "path of a unix socket for gRPC; replaces GRPC_HOST and GRPC_PORT", Value: settings.Text(&s.GRPCUDS, settings.CheckSocket)},
		{Name: "GRPC_MAX_CONNECTION_AGE", Default: "24h", Doc: "age at which clients are asked to reconnect, with 10% jitter either way; 0 means never", Value: settings.Duration(&s.GRPCMaxConnectionAge, notNegative)},
		{Name: "GRPC_MAX_CONNECTION_AGE_GRACE", Default: "1h", Doc: "time that calls then have to finish; 0 means no limit", Value: settings.Duration(&s.GRPCMaxConnectionAgeGrace, notNegative)},
		{Name: "GRPC_REFLECTION", Default: "false", Doc: "serve gRPC reflection, which describes the services to tools such as grpcurl (extension)", Value: settings.Bool(&s.GRPCReflection)},
		{Name: "QUOTA_ENABLED", Default: "false", Doc: "serve the rate limit quota service (RLQS) on the gRPC listener, with which Envoy decides by itself (extension)", Value: settings.Bool(&s.QuotaEnabled)},
		{Name: "QUOTA_TTL", Default: "10s", Doc: "time after which a quota ends that is not renewed, in whole seconds: for so long a client without the server uses what it has (extension)", Value: settings.Duration(&s.QuotaTTL, settings.From(2*time.Second, time.Hour))},
		{Name: "ADMIN_TOKEN", Secret: true, Doc: "enables gRPC calls that read, reset and give back counters, for those who send this token: at least 16 random bytes, such as of openssl rand -hex 16; over TLS, a unix socket or a loopback address only (extension)", Value: settings.Hidden(&s.AdminToken, checkToken)},
		{Name: "ADMIN_TOKEN_FILE", Doc: "file of that token, read at the start; replaces ADMIN_TOKEN (extension)", Value: settings.Text(&s.AdminTokenFile)},
		{Name: "ALLOWED_HOSTS", Doc: "further hosts, without ports, that HTTP, debug and scrape requests may be for: N1,N2; *.example.com is all names below example.com, * is all hosts (extension)", Value: settings.List(&s.AllowedHosts, checkAllowedHost)},
		{Name: "JSON_WITHOUT_CLIENT_CERTIFICATE", Default: "false", Doc: "serve /json, which has no authentication, even if gRPC clients need a certificate (extension)", Value: settings.Bool(&s.JSONWithoutCertificate)},

		{Group: "Bounds", Name: "GRPC_MAX_MESSAGE_BYTES", Default: "262144", Doc: "largest gRPC request, in bytes (extension)", Value: settings.Int(&s.GRPCMaxMessageBytes, settings.From(1<<10, 64<<20))},
		{Name: "GRPC_MAX_HEADER_BYTES", Default: "16384", Doc: "largest header list of a gRPC call, decompressed, with 32 bytes added for each field (extension)", Value: settings.Int(&s.GRPCMaxHeaderBytes, settings.From(1<<10, 16<<20))},
		{Name: "GRPC_MAX_CONCURRENT_STREAMS", Default: "1000", Doc: "calls in progress on a gRPC connection; clients wait or open another one; 0 means no limit", Value: settings.Int(&s.GRPCMaxConcurrentStreams, settings.From[int64](0, 4294967294))},
		{Name: "GRPC_MAX_CONNECTIONS", Default: "4096", Doc: "open gRPC connections; above it idle ones are closed, or new ones refused (extension)", Value: settings.Int(&s.GRPCMaxConnections, settings.From(1, 1000000))},
		{Name: "GRPC_MAX_CONNECTIONS_PER_ADDRESS", Default: "1024", Doc: "open gRPC connections from one IPv4 address or IPv6 /64 network; raise it if all clients share one, such as that of a load balancer (extension)", Value: settings.Int(&s.GRPCMaxConnectionsPerAddress, settings.From(1, 1000000))},
		{Name: "GRPC_MAX_BYTES_IN_FLIGHT", Default: "67108864", Doc: "memory of all unfinished gRPC calls, estimated; above it the connection that holds the most is closed (extension)", Value: settings.Int(&s.GRPCMaxBytesInFlight, settings.AtLeast[int64](1<<20))},
		{Name: "GRPC_MESSAGE_TIMEOUT", Default: "10s", Doc: "time for the message of a gRPC call to arrive (extension)", Value: settings.Duration(&s.GRPCMessageTimeout, settings.From(time.Millisecond, time.Hour))},
		{Name: "REQUEST_TIMEOUT", Default: "0", Doc: "time for a decision, after which the call fails with DeadlineExceeded, or 504 at /json; ON_STORE_FAILURE decides what fails before that, see KVSTORE_TIMEOUT; 0 means no limit", Value: settings.Duration(&s.RequestTimeout, notNegative)},
		{Name: "MAX_CONCURRENT_REQUESTS", Default: "0", Doc: "decisions in progress, over gRPC and /json together; further calls fail with ResourceExhausted, or 503 at /json; 0 means no limit", Value: settings.Int(&s.MaxConcurrentRequests, settings.From(0, 10000000))},
		{Name: "MAX_DESCRIPTORS_PER_REQUEST", Default: "1000", Doc: "descriptors of a request; in total they may have 16 times as many entries (extension)", Value: settings.Int(&s.MaxDescriptors, settings.From(1, 100000))},
		{Name: "MAX_ENTRIES_PER_DESCRIPTOR", Default: "100", Doc: "entries of a descriptor; no rule is deeper than 100 (extension)", Value: settings.Int(&s.MaxEntries, settings.From(1, 10000))},
		{Name: "JSON_MAX_BODY_BYTES", Default: "1048576", Doc: "largest body of a request to /json, in bytes (extension)", Value: settings.Int(&s.JSONMaxBodyBytes, settings.From[int64](1<<10, 64<<20))},
		{Name: "HTTP_MAX_CONNECTIONS", Default: "1024", Doc: "open connections of the HTTP listener, and of the debug and scrape listeners each; above it connections of the address with the most are closed (extension)", Value: settings.Int(&s.HTTPMaxConnections, settings.From(1, 1000000))},
		{Name: "HTTP_MAX_CONNECTIONS_PER_ADDRESS", Default: "128", Doc: "these from one IPv4 address or IPv6 /64 network; raise it if all clients share one, such as that of a load balancer (extension)", Value: settings.Int(&s.HTTPMaxConnectionsPerAddress, settings.From(1, 1000000))},
		{Name: "HTTP_MAX_BYTES_IN_FLIGHT", Default: "67108864", Doc: "memory of all unfinished HTTP requests, estimated; half of it for one address; above it requests get 503 (extension)", Value: settings.Int(&s.HTTPMaxBytesInFlight, settings.AtLeast[int64](1<<20))},

		{Group: "TLS of the gRPC listener", Name: "GRPC_SERVER_USE_TLS", Default: "false", Doc: "serve gRPC over TLS", Value: settings.Bool(&s.GRPCServerUseTLS)},
		{Name: "GRPC_SERVER_TLS_CERT", Doc: "file of the server's certificate chain", Value: settings.Text(&s.GRPCServerTLSCert)},
		{Name: "GRPC_SERVER_TLS_KEY", Doc: "file of the server's private key", Value: settings.Text(&s.GRPCServerTLSKey)},
		{Name: "GRPC_CLIENT_TLS_CACERT", Doc: "file of the authorities that sign client certificates, without those of the system; if set, clients need one", Value: settings.Text(&s.GRPCClientTLSCACert)},
		{Name: "GRPC_CLIENT_TLS_SAN", Doc: "DNS name that a client's certificate must have", Value: settings.Text(&s.GRPCClientTLSSAN)},

		{Group: "Log", Name: "LOG_LEVEL", Default: "WARN", Doc: "DEBUG, INFO, WARN or ERROR", Value: settings.OneOf(&s.LogLevel, "DEBUG=TRACE", "INFO", "WARN=WARNING", "ERROR=FATAL=PANIC")},
		{Name: "LOG_FORMAT", Default: "text", Doc: "text or json", Value: settings.OneOf(&s.LogFormat, "text", "json")},

		{Group: "Configuration", Name: "CONFIG_TYPE", Default: "FILE", Doc: "source of the configuration: FILE, or GRPC_XDS_SOTW for a configuration server", Value: settings.OneOf(&s.ConfigType, File, GRPCXDSSOTW)},
		{Name: "FORCE_START_WITHOUT_INITIAL_CONFIG", Default: "false", Doc: "start even if the configuration can't be loaded", Value: settings.Bool(&s.ForceStart)},
		{Name: "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", Default: "false", Doc: "be healthy only while at least one domain is loaded", Value: settings.Bool(&s.HealthyWithConfig)},
		{Name: "RUNTIME_ROOT", Default: "/srv/runtime_data/current", Doc: "directory of the configuration", Value: settings.Text(&s.RuntimeRoot)},
		{Name: "RUNTIME_SUBDIRECTORY", Doc: "directory below RUNTIME_ROOT", Value: settings.Text(&s.RuntimeSubdirectory)},
		{Name: "RUNTIME_APPDIRECTORY", Default: "config", Empty: true, Doc: "directory below RUNTIME_SUBDIRECTORY; its files *.yaml and *.yml are read", Value: settings.Text(&s.RuntimeAppDirectory)},
		{Name: "RUNTIME_IGNOREDOTFILES", Default: "false", Doc: "ignore files and directories whose name begins with a dot", Value: settings.Bool(&s.RuntimeIgnoreDotFiles)},
		{Name: "RUNTIME_WATCH_ROOT", Default: "true", Doc: "reload when RUNTIME_ROOT, a symbolic link, is replaced; false: when a file changes", Value: settings.Bool(&s.RuntimeWatchRoot)},
		{Name: "MERGE_DOMAIN_CONFIG", Default: "false", Doc: "allow several files to configure one domain", Value: settings.Bool(&s.MergeDomainConfig)},

		{Group: "Configuration server", Name: "CONFIG_GRPC_XDS_NODE_ID", Default: "default", Doc: "node id sent to the configuration server", Value: settings.Text(&s.XDSNodeID)},
		{Name: "CONFIG_GRPC_XDS_NODE_METADATA", Doc: "node metadata, k1=v1,k2=v2", Value: pairMap(&s.XDSNodeMetadata, "=")},
		{Name: "CONFIG_GRPC_XDS_SERVER_URL", Default: "localhost:18000", URL: true, Doc: "address of the configuration server", Value: settings.Text(&s.XDSServerURL, checkTarget)},
		{Name: "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", Default: "3s", Doc: "wait between attempts to connect until the first one succeeds; 0 is the same as 3s", Value: settings.Duration(&s.XDSRetryInterval, notNegative)},
		{Name: "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", Secret: true, Doc: "headers of requests to it, <k1:v1>,<k2:v2>; the angle brackets are optional", Value: pairs(&s.XDSHeaders, ":", func(p Pair, _ []Pair) error { return settings.CheckHeader(p.Name, p.Value) })},
		{Name: "CONFIG_GRPC_XDS_SERVER_USE_TLS", Default: "false", Doc: "connect to it over TLS", Value: settings.Bool(&s.XDSUseTLS)},
		{Name: "CONFIG_GRPC_XDS_CLIENT_TLS_CERT", Doc: "file of the client certificate for it", Value: settings.Text(&s.XDSClientTLSCert)},
		{Name: "CONFIG_GRPC_XDS_CLIENT_TLS_KEY", Doc: "file of the private key of that certificate", Value: settings.Text(&s.XDSClientTLSKey)},
		{Name: "CONFIG_GRPC_XDS_SERVER_TLS_CACERT", Doc: "file of authorities that may sign its certificate, besides those of the system", Value: settings.Text(&s.XDSServerCACert)},
		{Name: "CONFIG_GRPC_XDS_SERVER_TLS_SAN", Doc: "DNS name that its certificate must have, instead of the host's", Value: settings.Text(&s.XDSServerSAN)},
		{Name: "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", Default: "10s", Doc: "wait before the first attempt to reconnect", Value: settings.Duration(&s.XDSBackoffInitial, positive)},
		{Name: "XDS_CLIENT_BACKOFF_MAX_INTERVAL", Default: "60s", Doc: "upper bound of that wait", Value: settings.Duration(&s.XDSBackoffMax, positive)},
		{Name: "XDS_CLIENT_BACKOFF_RANDOM_FACTOR", Default: "0.5", Doc: "growth of the wait with each attempt", Value: settings.Float(&s.XDSBackoffFactor, settings.AboveUpTo[float64](0, 100))},
		{Name: "XDS_CLIENT_BACKOFF_JITTER", Default: "true", Doc: "add jitter to the wait", Value: settings.Bool(&s.XDSBackoffJitter)},
		{Name: "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", Default: "0", Doc: "largest message accepted from it, in bytes; 0 means 4 MiB", Value: settings.Int(&s.XDSMaxMessageSize, settings.From(0, 2147483647))},
		{Name: "XDS_CLIENT_STRICT", Default: "false", Doc: "reject a whole configuration if one of its resources is invalid, instead of that resource only (extension)", Value: settings.Bool(&s.XDSStrict)},

		{Group: "Statistics", Name: "DISABLE_STATS", Default: "false", Doc: "serve statistics on the debug port only, whatever the settings below say", Value: settings.Bool(&s.DisableStats)},
		{Name: "STATS_FLUSH_INTERVAL", Default: "10s", Doc: "how often statistics are pushed", Value: settings.Duration(&s.StatsFlushInterval, positive)},
		{Name: "EXTRA_TAGS", Doc: "tags of every statistic, <k1:v1>,<k2:v2>; the angle brackets are optional", Value: pairs(&s.ExtraTags, ":", checkTag)},
		{Name: "USE_PUSHSTATS", Aliases: []string{"USE_STATSD"}, Default: "true", Doc: "push statistics; false writes them to standard output, unless they are sent to an agent or scraped", Value: settings.Bool(&s.UsePushStats)},
		{Name: "PUSHSTATS_HOST", Aliases: []string{"STATSD_HOST"}, Default: "localhost", Doc: "host to push statistics to", Value: settings.Text(&s.PushStatsHost, host)},
		{Name: "PUSHSTATS_PORT", Aliases: []string{"STATSD_PORT"}, Default: "8125", Doc: "port to push statistics to", Value: settings.Int(&s.PushStatsPort, port)},
		{Name: "PUSHSTATS_PROTOCOL", Aliases: []string{"STATSD_PROTOCOL"}, Default: "tcp", Doc: "tcp or udp", Value: settings.OneOf(&s.PushStatsProtocol, "tcp", "udp")},
		{Name: "USE_AGENTSTATS", Aliases: []string{"USE_DOG_STATSD"}, Default: "false", Doc: "push statistics to an agent that supports tags, at PUSHSTATS_HOST and PUSHSTATS_PORT", Value: settings.Bool(&s.UseAgentStats)},
		{Name: mogrifierList, Aliases: []string{"USE_AGENTSTATS_MOGRIFIERS", "USE_DOG_STATSD_MOGRIFIERS", "DOG_STATSD_MOGRIFIERS"}, Doc: "names, N1,N2, of rules that rename statistics for the agent, the first match wins; each N has AGENTSTATS_MOGRIFIER_N_PATTERN (regular expression), _NAME and _TAGS (k1:v1,k2:v2), in which $1 is a group of the pattern", Value: settings.List(&s.AgentMogrifiers)},
		{Name: "USE_SCRAPE", Aliases: []string{"USE_PROMETHEUS"}, Default: "false", Doc: "serve metrics for a scraper", Value: settings.Bool(&s.UseScrape)},
		{Name: "SCRAPE_ADDR", Aliases: []string{"PROMETHEUS_ADDR"}, Default: ":9090", Doc: "address of the scrape listener, host:port; port 0 picks a free one", Value: settings.Text(&s.ScrapeAddr, settings.CheckListen)},
		{Name: "SCRAPE_PATH", Aliases: []string{"PROMETHEUS_PATH"}, Default: "/metrics", Doc: "path of the metrics", Value: settings.Text(&s.ScrapePath, checkPath)},
		{Name: "SCRAPE_MAPPER_YAML", Aliases: []string{"PROMETHEUS_MAPPER_YAML"}, Doc: "file that maps statistics to metrics, instead of the built-in mapping; without such a file that is used", Value: settings.Text(&s.ScrapeMapperYAML)},
		{Name: "SCRAPE_RESPONSE_TIME_AS_MILLISECONDS", Aliases: []string{"PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS"}, Default: "false", Doc: "report response times in milliseconds; has no effect with a mapping file", Value: settings.Bool(&s.ScrapeMilliseconds)},
		{Name: "TOP_KEYS", Default: "true", Doc: "look for the busiest keys of each rule, for /topkeys of the debug port (extension)", Value: settings.Bool(&s.TopKeys)},
		{Name: "SCRAPE_TOP_KEYS", Default: "0", Doc: "how many of them, up to 64 of each rule and 1000 in each metric, the scraper gets as ratelimit_top_key_hits and ratelimit_top_key_refusals; a label holds what clients sent, and each key is a series (extension)", Value: settings.Int(&s.ScrapeTopKeys, settings.From(0, 64))},
		{Name: "SANITIZE_DESCRIPTOR_METRIC_DOTS", Default: "false", Doc: "replace dots in descriptor keys and values with _ in the names of statistics", Value: settings.Bool(&s.SanitizeMetricDots)},
		{Name: "MAX_STATISTICS_NAMES", Default: "10000", Doc: "names of statistics that requests may create in a domain, with values and overrides; further ones are counted as other, and those that were not used for 5 minutes make room (extension)", Value: settings.Int(&s.MaxStatisticsNames, settings.From(1, 10000000))},

		{Group: "Counting", Name: "CACHE_KEY_PREFIX", Doc: "prefix of every counter key", Value: settings.Text(&s.CacheKeyPrefix)},
		{Name: "COUNTER_KEY_FORMAT", Doc: "how counter keys are built: reference, as the reference service does, so that counters can be shared with it; or unambiguous, so that no value that a client sends can count on another descriptor's counter; unset: unambiguous with embedded counters, else reference (extension)", Value: settings.OneOf(&s.CounterKeyFormat, "reference", "unambiguous")},
		{Name: "EXPIRATION_JITTER_MAX_SECONDS", Default: "300", Doc: "seconds by which counters may outlive their window, at most; 0 or less means none", Value: settings.Int(&s.ExpirationJitter, settings.AtMost[int64](31536000))},
		{Name: "NEAR_LIMIT_RATIO", Default: "0.8", Doc: "part of a limit, 0 to 1, above which hits count as near the limit", Value: settings.Float(&s.NearLimitRatio, settings.From[float32](0, 1))},
		{Name: "LOCAL_CACHE_SIZE_IN_BYTES", Aliases: []string{"LocalCacheSizeInBytes"}, Default: "0", Doc: "size of the cache of counters over their limit; 0 means no cache", Value: settings.Int(&s.LocalCacheSize, settings.AtLeast(0))},
		{Name: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", Default: "false", Doc: "when one descriptor of a request is over its limit, do not count the others; atomic with embedded counters and with one key-value store, otherwise by reading first", Value: settings.Bool(&s.StopIncrement)},
		{Name: "USE_CALENDAR_MONTH_RATE_LIMIT", Default: "false", Doc: "limits per month begin on the first of each month in UTC, instead of every 30 days, unless a rule has align", Value: settings.Bool(&s.CalendarMonths)},
		{Name: "SHADOW_MODE", Default: "false", Doc: "respond OK whatever the limits say", Value: settings.Bool(&s.ShadowMode)},
		{Name: "QUOTA_MODE", Default: "false", Doc: "treat every rule as if it were in quota mode", Value: settings.Bool(&s.QuotaMode)},

		{Group: "Responses", Name: "RESPONSE_DYNAMIC_METADATA", Default: "false", Doc: "add the request and the metadata of matched rules to responses", Value: settings.Bool(&s.DynamicMetadata)},
		{Name: "LIMIT_RESPONSE_HEADERS_ENABLED", Default: "false", Doc: "add the tightest limit to the response headers", Value: settings.Bool(&s.ResponseHeaders)},
		{Name: "LIMIT_LIMIT_HEADER", Default: "RateLimit-Limit", Doc: "name of the header with the limit", Value: settings.Text(&s.LimitHeader, checkHeader)},
		{Name: "LIMIT_REMAINING_HEADER", Default: "RateLimit-Remaining", Doc: "name of the header with the remaining requests", Value: settings.Text(&s.RemainingHeader, checkHeader)},
		{Name: "LIMIT_RESET_HEADER", Default: "RateLimit-Reset", Doc: "name of the header with the seconds until the window ends", Value: settings.Text(&s.ResetHeader, checkHeader)},
		{Name: "LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED", Default: "false", Doc: "add the limit and the remaining requests of every descriptor to the response headers, as ratelimit-limit-minutes and ratelimit-remaining-minutes for its unit", Value: settings.Bool(&s.AllDescriptorsHeaders)},
		{Name: "LIMIT_REQUEST_HEADERS_ENABLED", Default: "false", Doc: "add the tightest limit to the headers of the request that goes to the upstream", Value: settings.Bool(&s.RequestHeaders)},
		{Name: "LIMIT_REQUEST_LIMIT_HEADER", Default: "RateLimit-Limit", Doc: "name of its header with the limit", Value: settings.Text(&s.RequestLimitHeader, checkHeader)},
		{Name: "LIMIT_REQUEST_REMAINING_HEADER", Default: "RateLimit-Remaining", Doc: "name of its header with the remaining requests", Value: settings.Text(&s.RequestRemainingHeader, checkHeader)},
		{Name: "LIMIT_REQUEST_RESET_HEADER", Default: "RateLimit-Reset", Doc: "name of its header with the seconds until the window ends", Value: settings.Text(&s.RequestResetHeader, checkHeader)},

		{Group: "Counter stores", Name: "BACKEND_TYPE", Doc: "where counters are stored: embedded (in this process), kvstore (or redis) or memstore (or memcache); unset: kvstore if KVSTORE_URL is set, else embedded", Value: settings.OneOf(&s.Backend, Embedded, KVStore+"=redis", MemStore+"=memcache")},
		{Name: "EMBEDDED_MAX_BYTES", Default: "536870912", Doc: "memory limit of embedded counters, an eighth of it for rules whose keys and values are all configured (extension)", Value: settings.Int(&s.EmbeddedMaxBytes, settings.AtLeast[int64](1<<20))},
		{Name: "EMBEDDED_WHEN_FULL", Default: "evict-fewest", Doc: "what happens to a new key when that memory is full: evict-fewest drops the counters with the fewest hits, evict-oldest those created first, which lets a client that invents keys reset its own counter; deny makes new keys share counters, so that they are soon denied; allow lets them pass uncounted (extension)", Value: settings.OneOf(&s.EmbeddedWhenFull, "evict-fewest", "evict-oldest", "deny", "allow")},
		{Name: "ON_STORE_FAILURE", Default: "error", Doc: "decision about a descriptor whose counter can't be reached: error (the call fails), allow, deny, or local (counted in this process); a rule's on_store_failure takes precedence (extension)", Value: settings.OneOf(&s.OnStoreFailure, "error", "allow", "deny", "local")},
		{Name: "LEASES", Default: "rules", Doc: "limits of which an instance claims a part ahead and decides in memory, with a key-value store: rules (those with lease: true), all, or off (extension)", Value: settings.OneOf(&s.Leases, LeasesOfRules, AllLeases, LeasesOff)},
		{Name: "STORE_BREAKER_FAILURES", Default: "3", Doc: "attempts that must fail, within 250 ms or more and at least half of all, before calls to a server of the store are suspended; 0 means never (extension)", Value: settings.Int(&s.BreakerFailures, settings.From(0, 1000000))},
		{Name: "STORE_BREAKER_WAIT", Default: "10ms", Doc: "pause after the first attempt to reconnect to a server that fails (extension)", Value: settings.Duration(&s.BreakerWait, positive)},
		{Name: "STORE_BREAKER_MAX_WAIT", Default: "100ms", Doc: "upper bound of that pause, which doubles with each attempt, with jitter (extension)", Value: settings.Duration(&s.BreakerMaxWait, positive)},
	}, kvTable(&s.KVStore, "KVSTORE_", "REDIS_", "Key-value store", "/var/run/nutcracker/ratelimit.sock"), []settings.Setting{
		{Name: "KVSTORE_TLS_CLIENT_CERT", Aliases: []string{"REDIS_TLS_CLIENT_CERT"}, Doc: "file of the client certificate for the store, and for the store of per-second limits", Value: settings.Text(&s.KVStoreClientCert)},
		{Name: "KVSTORE_TLS_CLIENT_KEY", Aliases: []string{"REDIS_TLS_CLIENT_KEY"}, Doc: "file of the private key of that certificate", Value: settings.Text(&s.KVStoreClientKey)},
		{Name: "KVSTORE_TLS_CACERT", Aliases: []string{"REDIS_TLS_CACERT"}, Doc: "file of authorities that may sign the store's certificate, besides those of the system", Value: settings.Text(&s.KVStoreCACert)},
		{Name: "KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION", Aliases: []string{"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION"}, Default: "false", Doc: "do not compare the store's certificate with its host name", Value: settings.Bool(&s.KVStoreSkipHostname)},
		{Name: "KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION", Aliases: []string{"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION"}, Default: "false", Doc: "be healthy only while there is a connection to the store", Value: settings.Bool(&s.KVStoreHealthCheck)},
		{Name: "KVSTORE_STARTUP_INITIAL_INTERVAL", Aliases: []string{"REDIS_STARTUP_INITIAL_INTERVAL"}, Default: "1s", Doc: "first wait between attempts to connect at start", Value: settings.Duration(&s.KVStoreStartupInitial, positive)},
		{Name: "KVSTORE_STARTUP_MAX_INTERVAL", Aliases: []string{"REDIS_STARTUP_MAX_INTERVAL"}, Default: "30s", Doc: "upper bound of that wait", Value: settings.Duration(&s.KVStoreStartupMax, positive)},
		{Name: "KVSTORE_STARTUP_MAX_ELAPSED_TIME", Aliases: []string{"REDIS_STARTUP_MAX_ELAPSED_TIME"}, Default: "0", Doc: "when to give up; 0 means never", Value: settings.Duration(&s.KVStoreStartupMaxElapsed, notNegative)},

		{Group: "Key-value store of per-second limits", Name: "KVSTORE_PERSECOND", Aliases: []string{"REDIS_PERSECOND"}, Default: "false", Doc: "count limits per second in a separate store", Value: settings.Bool(&s.UsePerSecond)},
	}, kvTable(&s.KVStorePerSecond, "KVSTORE_PERSECOND_", "REDIS_PERSECOND_", "", ""), []settings.Setting{
		{Group: "Memcached store", Name: "MEMSTORE_HOST_PORT", Aliases: []string{"MEMCACHE_HOST_PORT"}, URL: true, Doc: "its nodes, host:port,host:port, the same in every instance of the service", Value: settings.List(&s.MemStoreHostPort, checkNode)},
		{Name: "MEMSTORE_MAX_IDLE_CONNS", Aliases: []string{"MEMCACHE_MAX_IDLE_CONNS"}, Default: "2", Doc: "idle connections kept open to each node; 0 is the same as 2", Value: settings.Int(&s.MemStoreMaxIdleConns, settings.AtLeast(0))},
		{Name: "MEMSTORE_SRV", Aliases: []string{"MEMCACHE_SRV"}, Doc: "SRV record of its nodes, _service._proto.name; replaces MEMSTORE_HOST_PORT", Value: settings.Text(&s.MemStoreSRV, checkSRV)},
		{Name: "MEMSTORE_SRV_REFRESH", Aliases: []string{"MEMCACHE_SRV_REFRESH"}, Default: "0", Doc: "how often the record is looked up again; 0 means never", Value: settings.Duration(&s.MemStoreSRVRefresh, notNegative)},
		{Name: "MEMSTORE_TLS", Aliases: []string{"MEMCACHE_TLS"}, Default: "false", Doc: "connect over TLS", Value: settings.Bool(&s.MemStoreTLS)},
		{Name: "MEMSTORE_TLS_CLIENT_CERT", Aliases: []string{"MEMCACHE_TLS_CLIENT_CERT"}, Doc: "file of the client certificate", Value: settings.Text(&s.MemStoreClientCert)},
		{Name: "MEMSTORE_TLS_CLIENT_KEY", Aliases: []string{"MEMCACHE_TLS_CLIENT_KEY"}, Doc: "file of the private key of that certificate", Value: settings.Text(&s.MemStoreClientKey)},
		{Name: "MEMSTORE_TLS_CACERT", Aliases: []string{"MEMCACHE_TLS_CACERT"}, Doc: "file of authorities that may sign the nodes' certificates, besides those of the system", Value: settings.Text(&s.MemStoreCACert)},
		{Name: "MEMSTORE_TLS_SKIP_HOSTNAME_VERIFICATION", Aliases: []string{"MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION"}, Default: "false", Doc: "do not compare the nodes' certificates with their host names", Value: settings.Bool(&s.MemStoreSkipHostname)},
	}, s.Tracing.Rows("RateLimit"), []settings.Setting{
		{Group: "Shutdown", Name: "SHUTDOWN_DRAIN_DELAY", Default: "0s", Doc: "how long to keep serving, unhealthy, after SIGTERM (extension)", Value: settings.Duration(&s.ShutdownDrainDelay, notNegative)},
		{Name: "SHUTDOWN_TIMEOUT", Default: "30s", Doc: "time that open calls then have to finish, above 0 (extension)", Value: settings.Duration(&s.ShutdownTimeout, positive)},
	})
}

// kvTable returns the rows of one key-value store.
func kvTable(k *KV, prefix, alias, group, url string) []settings.Setting {
	positive, notNegative := settings.Above[time.Duration](0), settings.AtLeast[time.Duration](0)
	rows := []settings.Setting{
		{Group: group, Name: "SOCKET_TYPE", Doc: "tcp, tcp4, tcp6 or unix; unset: unix if the URL begins with /, else tcp", Value: settings.OneOf(&k.SocketType, SocketTCP, SocketTCP4, SocketTCP6, SocketUnix)},
		{Name: "TYPE", Default: "single", Doc: "single, sentinel or cluster", Value: settings.OneOf(&k.Type, Single, Sentinel, Cluster)},
		{Name: "URL", Default: url, URL: true, Doc: "single: host:port, redis://user:password@host:port/database (rediss for TLS), or the path of a socket; sentinel: master,host:port,... with at least one sentinel; cluster: host:port,... of all nodes", Value: settings.Text(&k.URL)},
		{Name: "POOL_SIZE", Default: "10", Doc: "connections to each node", Value: settings.Int(&k.PoolSize, settings.AtLeast(1))},
		{Name: "AUTH", Secret: true, Doc: "password, or user:password; takes precedence over that of the URL", Value: settings.Text(&k.Auth)},
		{Name: "AUTH_FILE", Doc: "file of the same, read at the start; replaces AUTH", Value: settings.Text(&k.AuthFile)},
		{Name: "TLS", Default: "false", Doc: "connect over TLS", Value: settings.Bool(&k.TLS)},
		{Name: "SENTINEL_AUTH", Secret: true, Doc: "password, or user:password, of the sentinels", Value: settings.Text(&k.SentinelAuth)},
		{Name: "TIMEOUT", Default: "10s", Doc: "time limit to connect, to read and to write, each", Value: settings.Duration(&k.Timeout, positive)},
		{Name: "OP_TIMEOUT", Default: "0", Doc: "the same if it is less than TIMEOUT; 0 means TIMEOUT alone", Value: settings.Duration(&k.OpTimeout, notNegative)},
		{Name: "PIPELINE_WINDOW", Default: "0", Doc: "how long to collect commands before they are written together, 150us to 500us; 0 means no window", Value: settings.Duration(&k.PipelineWindow, notNegative)},
		{Name: "PIPELINE_LIMIT", Default: "0", Doc: "deprecated, has no effect", Value: settings.Int(&k.PipelineLimit, settings.Bounds[int]{})},
		{Name: "CLUSTER_PIPELINE_PARALLELISM", Default: "1", Doc: "cluster: commands of one request in flight at a time, at most the pool size; 0 means as many as the pool allows", Value: settings.Int(&k.PipelineParallelism, settings.AtLeast(0))},
		{Name: "POOL_ON_EMPTY_BEHAVIOR", Default: "CREATE", Doc: "when all connections are in use: CREATE another one after the wait, ERROR after the wait, or WAIT for one", Value: settings.OneOf(&k.PoolOnEmpty, PoolCreate, PoolError, PoolWait)},
		{Name: "POOL_ON_EMPTY_WAIT_DURATION", Default: "1s", Doc: "that wait", Value: settings.Duration(&k.PoolOnEmptyWait, notNegative)},
	}
	for i := range rows {
		rows[i].Aliases = []string{alias + rows[i].Name}
		rows[i].Name = prefix + rows[i].Name
	}
	return rows
}
