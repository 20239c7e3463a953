package settings

import (
	"strings"
	"time"
)

// KV says where a key-value store is and how it is used. The names in its tags
// follow KVSTORE_ or KVSTORE_PERSECOND_.
type KV struct {
	// SocketType is SocketTCP or SocketUnix.
	SocketType string `env:"SOCKET_TYPE" oneof:"tcp unix" doc:"tcp or unix; unset: unix if the URL begins with /, else tcp"`
	// Type is Single, Sentinel or Cluster.
	Type         string `env:"TYPE" envDefault:"single" oneof:"single sentinel cluster" doc:"single, sentinel or cluster"`
	URL          string `env:"URL" secret:"url" doc:"single: host:port or the path of a socket; sentinel: master,host:port,... with at least one sentinel; cluster: host:port,... of all nodes"`
	PoolSize     int    `env:"POOL_SIZE" envDefault:"10" min:"1" doc:"connections to each node"`
	Auth         string `env:"AUTH" secret:"true" doc:"password, or user:password"`
	TLS          bool   `env:"TLS" envDefault:"false" doc:"connect over TLS"`
	SentinelAuth string `env:"SENTINEL_AUTH" secret:"true" doc:"the same for the sentinels"`
	// Timeout bounds connecting, reading and writing, each.
	Timeout             time.Duration `env:"TIMEOUT" envDefault:"10s" above:"0s" doc:"most time to connect, to read and to write, each"`
	PipelineWindow      time.Duration `env:"PIPELINE_WINDOW" envDefault:"0" min:"0s" doc:"how long to gather commands before they are written together, 150us to 500us; 0 for not at all"`
	PipelineLimit       int           `env:"PIPELINE_LIMIT" envDefault:"0" doc:"deprecated, without effect"`
	PipelineParallelism int           `env:"CLUSTER_PIPELINE_PARALLELISM" envDefault:"1" min:"0" doc:"cluster: commands of one request that are under way at once, at most the pool size; 0 for as many as that allows"`
	// PoolOnEmpty is PoolCreate, PoolError or PoolWait.
	PoolOnEmpty     string        `env:"POOL_ON_EMPTY_BEHAVIOR" envDefault:"CREATE" oneof:"CREATE ERROR WAIT" doc:"what to do when all connections are in use: CREATE another one after the wait, ERROR after the wait, or WAIT for one"`
	PoolOnEmptyWait time.Duration `env:"POOL_ON_EMPTY_WAIT_DURATION" envDefault:"1s" min:"0s" doc:"that wait"`
}

// Kinds of key-value store.
const (
	Single   = "single"
	Sentinel = "sentinel"
	Cluster  = "cluster"
)

// Ways to connect to a key-value store.
const (
	SocketTCP  = "tcp"
	SocketUnix = "unix"
)

// What to do when all connections of a pool are in use.
const (
	PoolCreate = "CREATE" // open one more after the wait, and close it after use
	PoolError  = "ERROR"  // fail after the wait
	PoolWait   = "WAIT"   // wait for one as long as the call may last
)

// Nodes are the addresses in the URL: one, or all that are listed; for a sentinel
// those of the sentinels, and master is what they call the store.
func (k *KV) Nodes() (master string, addrs []string) {
	switch k.Type {
	case Single:
		return "", []string{k.URL}
	case Sentinel:
		all := list(k.URL)
		return all[0], all[1:]
	}
	return "", list(k.URL)
}

// list splits at commas. It returns one item at least.
func list(text string) []string {
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}
