package settings

import (
	"regexp"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// Settings has a field for each row of [Table], which describes them.
type Settings struct {
	// Listeners.
	Host, DebugHost, GRPCHost string
	Port, DebugPort, GRPCPort int
	GRPCUDS                   string
	AllowedHosts              []string
	JSONWithoutCertificate    bool
	GRPCReflection            bool
	QuotaEnabled              bool
	QuotaTTL                  time.Duration
	AdminToken                string // see ReadAdminToken
	AdminTokenFile            string
	DebugConsole              bool
	GRPCMaxConnectionAge      time.Duration
	GRPCMaxConnectionAgeGrace time.Duration

	// Bounds.
	GRPCMaxMessageBytes, GRPCMaxHeaderBytes          int
	GRPCMaxConcurrentStreams                         int64 // of a connection; 0 for no limit
	GRPCMaxConnections, GRPCMaxConnectionsPerAddress int
	GRPCMaxBytesInFlight                             int64
	GRPCMessageTimeout                               time.Duration
	RequestTimeout                                   time.Duration // 0 for no limit
	MaxConcurrentRequests                            int           // 0 for no limit
	MaxDescriptors, MaxEntries                       int           // of a request, of a descriptor
	JSONMaxBodyBytes                                 int64
	HTTPMaxConnections, HTTPMaxConnectionsPerAddress int
	HTTPMaxBytesInFlight                             int64

	// TLS of the gRPC listener.
	GRPCServerUseTLS                      bool
	GRPCServerTLSCert, GRPCServerTLSKey   string
	GRPCClientTLSCACert, GRPCClientTLSSAN string

	// Log.
	LogLevel  string // DEBUG, INFO, WARN or ERROR
	LogFormat string // text or json

	// Source of the configuration.
	ConfigType                                            string // File or GRPCXDSSOTW
	ForceStart, HealthyWithConfig                         bool
	RuntimeRoot, RuntimeSubdirectory, RuntimeAppDirectory string
	RuntimeIgnoreDotFiles, RuntimeWatchRoot               bool
	MergeDomainConfig                                     bool

	// Configuration server.
	XDSNodeID, XDSServerURL           string
	XDSNodeMetadata                   map[string]string
	XDSRetryInterval                  time.Duration
	XDSHeaders                        []Pair
	XDSUseTLS                         bool
	XDSClientTLSCert, XDSClientTLSKey string
	XDSServerCACert, XDSServerSAN     string
	XDSBackoffInitial, XDSBackoffMax  time.Duration
	XDSBackoffFactor                  float64
	XDSBackoffJitter                  bool
	XDSMaxMessageSize                 int // bytes; 0 for 4 MiB
	XDSStrict                         bool

	// Statistics.
	DisableStats                           bool
	StatsFlushInterval                     time.Duration
	ExtraTags                              []Pair
	UsePushStats, UseAgentStats, UseScrape bool
	PushStatsHost                          string
	PushStatsPort                          int
	PushStatsProtocol                      string // tcp or udp
	AgentMogrifiers                        []string
	ScrapeAddr, ScrapePath                 string
	ScrapeMapperYAML                       string
	ScrapeMapperSetting                    string // its name as the environment has it, for messages
	ScrapeMilliseconds                     bool
	ScrapeTopKeys                          int // of each rule
	TopKeys                                bool
	SanitizeMetricDots                     bool
	MaxStatisticsNames                     int         // of a domain
	Mogrifiers                             []Mogrifier // those that AgentMogrifiers names, in its order

	// Counting.
	CacheKeyPrefix                       string
	CounterKeyFormat                     string // reference or unambiguous
	ExpirationJitter                     int64  // seconds
	NearLimitRatio                       float32
	LocalCacheSize                       int // bytes; 0 for none
	StopIncrement, ShadowMode, QuotaMode bool
	CalendarMonths                       bool

	// Responses.
	DynamicMetadata, ResponseHeaders          bool
	LimitHeader, RemainingHeader, ResetHeader string
	AllDescriptorsHeaders, RequestHeaders     bool
	// Their names in the headers of requests.
	RequestLimitHeader, RequestRemainingHeader, RequestResetHeader string

	// Counter stores.
	Backend                     string // Embedded, KVStore or MemStore
	BackendReason               string // why, for a log: "BACKEND_TYPE is set"
	EmbeddedMaxBytes            int64
	EmbeddedWhenFull            string // evict-fewest, evict-oldest, deny or allow
	OnStoreFailure              string // error, allow, deny or local
	Leases                      string // LeasesOff, LeasesOfRules or AllLeases
	BreakerFailures             int    // 0 disables the breaker
	BreakerWait, BreakerMaxWait time.Duration

	// Key-value stores. KVStorePerSecond is used if UsePerSecond is true.
	UsePerSecond                             bool
	KVStore, KVStorePerSecond                KV
	KVStoreClientCert, KVStoreClientKey      string
	KVStoreCACert                            string
	KVStoreSkipHostname, KVStoreHealthCheck  bool
	KVStoreStartupInitial, KVStoreStartupMax time.Duration
	KVStoreStartupMaxElapsed                 time.Duration

	// Memcached store.
	MemStoreHostPort                      []string
	MemStoreMaxIdleConns                  int
	MemStoreSRV                           string
	MemStoreSRVRefresh                    time.Duration
	MemStoreTLS, MemStoreSkipHostname     bool
	MemStoreClientCert, MemStoreClientKey string
	MemStoreCACert                        string

	Tracing settings.Tracing

	// Shutdown.
	ShutdownDrainDelay, ShutdownTimeout time.Duration
}

// KV has the settings of a key-value store.
type KV struct {
	SocketType          string // SocketTCP, SocketTCP4, SocketTCP6 or SocketUnix
	Type                string // Single, Sentinel or Cluster
	URL                 string // see Resolved
	Database            int    // set by Resolved
	PoolSize            int    // connections to each node
	Auth, SentinelAuth  string // password, or user:password
	AuthFile            string // see ReadAuth
	TLS                 bool
	Timeout             time.Duration // to connect, to read and to write, each
	OpTimeout           time.Duration // the same if it is less; 0 for none
	PipelineWindow      time.Duration // 0 for no window
	PipelineLimit       int           // has no effect
	PipelineParallelism int           // 0 for as many as the pool allows
	PoolOnEmpty         string        // PoolCreate, PoolError or PoolWait
	PoolOnEmptyWait     time.Duration
}

// Pair is a name with a value: a tag or a header.
type Pair struct {
	Name, Value string
}

// Mogrifier renames statistics for the agent. In Metric and Tags, "$1" is replaced by what
// the first group of Pattern matched, "$0" by the whole match.
type Mogrifier struct {
	Name    string         // as AGENTSTATS_MOGRIFIERS has it
	Pattern *regexp.Regexp // the statistics to rename
	Metric  string         // the new name
	Tags    []string       // name:value or name
}

// Sources of configuration.
const (
	File        = "FILE"          // the files below RUNTIME_ROOT
	GRPCXDSSOTW = "GRPC_XDS_SOTW" // an aggregated discovery server
)

// Backends.
const (
	Embedded = "embedded" // counters in the process itself
	KVStore  = "kvstore"  // counters in Redis
	MemStore = "memstore" // counters in memcached
)

// Limits with leases.
const (
	LeasesOff     = "off"
	LeasesOfRules = "rules" // those of rules with lease: true
	AllLeases     = "all"
)

// Kinds of key-value store.
const (
	Single   = "single"
	Sentinel = "sentinel"
	Cluster  = "cluster"
)

// Ways to connect to a key-value store.
const (
	SocketTCP  = "tcp"
	SocketTCP4 = "tcp4" // IPv4 only
	SocketTCP6 = "tcp6" // IPv6 only
	SocketUnix = "unix"
)

// What to do when all connections of a pool are in use.
const (
	PoolCreate = "CREATE" // open one more after the wait, and close it after use
	PoolError  = "ERROR"  // fail after the wait
	PoolWait   = "WAIT"   // wait for one until the call times out
)

// Nodes returns the addresses in the URL: one, or all that are listed. For Sentinel these
// are the sentinels, and master is the name of the store.
func (k *KV) Nodes() (master string, addrs []string) {
	switch k.Type {
	case Single:
		return "", []string{k.URL}
	case Sentinel:
		all := settings.Split(k.URL)
		return all[0], all[1:]
	}
	return "", settings.Split(k.URL)
}
