package archtest

import "slices"

// Third-party modules, by the prefix of their import paths. Each has one place,
// or the few that its job needs.
const (
	uuid       = "github.com/google/uuid"
	validator  = "github.com/go-playground/validator/v10"
	argon2     = "golang.org/x/crypto"
	jwt        = "github.com/golang-jwt/jwt/v5"
	redis      = "github.com/redis/go-redis/v9"
	memcache   = "github.com/bradfitz/gomemcache"
	grpc       = "google.golang.org/grpc"
	protobuf   = "google.golang.org/protobuf"
	envoy      = "github.com/envoyproxy/go-control-plane"
	yaml       = "gopkg.in/yaml.v3"
	sqlite     = "modernc.org/sqlite"
	postgres   = "github.com/jackc/pgx/v5"
	migrations = "github.com/pressly/goose/v3"
	sqlbuilder = "github.com/huandu/go-sqlbuilder"
	cors       = "github.com/rs/cors"
	gzip       = "github.com/klauspost/compress"
	htmlpolicy = "github.com/microcosm-cc/bluemonday"
	otter      = "github.com/maypok86/otter/v2"
	prometheus = "github.com/prometheus"
	otel       = "go.opentelemetry.io"
	watch      = "github.com/fsnotify/fsnotify"
	sync       = "golang.org/x/sync"
	semver     = "github.com/Masterminds/semver/v3"
	mail       = "github.com/wneessen/go-mail"
	chi        = "github.com/go-chi/chi/v5" // a foreign router for tests
)

// House is the law of this module.
func House() *Law {
	return &Law{
		Rows: slices.Concat(ratelimitRows(), inventoryRows(), kitRows(), programRows()),
		TestLibraries: []string{
			"github.com/stretchr/testify",
			"pgregory.net/rapid",
			"go.uber.org/goleak",
			"github.com/DATA-DOG/go-sqlmock",
			"github.com/alicebob/miniredis/v2",
			"github.com/emersion/go-smtp",
			"github.com/chromedp",
			"github.com/getkin/kin-openapi",
			"github.com/santhosh-tekuri/jsonschema/v6",
		},
		Refused: []string{"util", "utils", "common", "helper", "helpers", "types", "base"},
	}
}

// ratelimitRows is the domain of limits, floor by floor.
func ratelimitRows() []Row {
	return []Row{
		{Path: "ratelimit", Floor: Ground},
		{Path: "ratelimit/certs/certstest", Floor: Ground},
		{Path: "ratelimit/store/servertest", Floor: Ground},

		{Path: "ratelimit/certs", Floor: First},
		{Path: "ratelimit/config", Floor: First, Uses: []string{yaml}},
		{Path: "ratelimit/health", Floor: First},
		{Path: "ratelimit/httplimit", Floor: First},
		{Path: "ratelimit/localcache", Floor: First, Uses: []string{otter}},
		{Path: "ratelimit/modeltest", Floor: First},
		{Path: "ratelimit/settings", Floor: First},
		{Path: "ratelimit/stats", Floor: First},
		{Path: "ratelimit/watch", Floor: First, Uses: []string{watch}},
		// The in-process limiter is the core with this store: as plain as the core.
		{Path: "ratelimit/store/memstore", Floor: First, Plain: true},
		{Path: "ratelimit/store/breaker", Floor: First},
		{Path: "ratelimit/store/memcachestore", Floor: First, Uses: []string{memcache}},
		{Path: "ratelimit/store/memcachetest", Floor: First},
		{Path: "ratelimit/store/redisstore", Floor: First, Uses: []string{redis, sync}},
		{Path: "ratelimit/store/redistest", Floor: First, Uses: []string{redis}},
		{Path: "ratelimit/store/storetest", Floor: First},

		{Path: "ratelimit/files", Floor: Second, Uses: []string{watch}},
		{Path: "ratelimit/service", Floor: Second, Uses: []string{grpc, envoy, protobuf}},
		{Path: "ratelimit/stats/prom", Floor: Second, Uses: []string{prometheus}},
		{Path: "ratelimit/stats/statsd", Floor: Second},
		{Path: "ratelimit/tracing", Floor: Second, Uses: []string{otel, grpc, protobuf}},
		{Path: "ratelimit/xds", Floor: Second, Uses: []string{grpc, envoy, protobuf}},

		{Path: "ratelimit/server", Floor: Third, Uses: []string{grpc, envoy, protobuf, otel, sync}},
	}
}

// inventoryRows is the two domains of records.
func inventoryRows() []Row {
	return []Row{
		{Path: "inventory", Floor: Ground, Uses: []string{uuid, validator}},
		{Path: "bookcatalog", Floor: Ground, Uses: []string{uuid, validator}},

		{Path: "inventory/auth", Floor: First, Uses: []string{argon2, jwt, sync}},
		{Path: "inventory/mail", Floor: First, Uses: []string{mail}},
		{Path: "inventory/sqlstore", Floor: First, Uses: []string{migrations, sqlbuilder, uuid}},
		{Path: "inventory/storetest", Floor: First, Uses: []string{uuid}},
		{Path: "inventory/demo", Floor: First, Uses: []string{uuid}},
		{Path: "inventory/openapi", Floor: First},
		{Path: "inventory/sqlstore/postgrestest", Floor: First},
		{Path: "inventory/sqlstore/sqlstoretest", Floor: First},
		{Path: "bookcatalog/sqlstore", Floor: First, Uses: []string{migrations, uuid}},
		{Path: "bookcatalog/storetest", Floor: First},

		{Path: "inventory/httpapi", Floor: Second, Uses: []string{uuid, validator}},
		{Path: "bookcatalog/httpapi", Floor: Second},
		{Path: "bookcatalog/sqlstore/sqlite", Floor: Second, Uses: []string{sqlite}},
		{Path: "inventory/sqlstore/postgres", Floor: Second, Uses: []string{postgres}},
		{Path: "inventory/sqlstore/sqlite", Floor: Second, Uses: []string{sqlite}},

		{Path: "inventory/server", Floor: Third, Uses: []string{cors, gzip, sync}},
	}
}

// kitRows is the two small domains.
func kitRows() []Row {
	return []Row{
		{Path: "manifest", Floor: Ground},
		{Path: "httpx", Floor: Ground},

		{Path: "httpx/sanitize", Floor: First, Uses: []string{htmlpolicy}},
		{Path: "httpx/apidocs", Floor: First},
		{Path: "httpx/httpxtest", Floor: First, Uses: []string{chi}},
		{Path: "manifest/schematest", Floor: First},
		{Path: "manifest/fetch", Floor: First, Uses: []string{semver}},
	}
}

// programRows is what stands above the libraries.
func programRows() []Row {
	return []Row{
		{Path: "cmd/internal/archtest", Floor: Inside},
		// Below the others there, because the tests of programs open pages with it.
		{Path: "cmd/internal/browsertest", Floor: Third},
		{Path: "cmd/internal/cli", Floor: Inside},
		{Path: "cmd/internal/deploytest", Floor: Inside, Uses: []string{grpc, envoy, yaml}},
		{Path: "cmd/internal/e2e", Floor: Inside, Uses: []string{grpc, envoy, protobuf}},

		{Path: ".", Floor: Top},
		{Path: "cmd/ashlar", Floor: Top, Uses: []string{grpc, envoy, protobuf, sync}},
		{Path: "cmd/bookcatalogd", Floor: Top},
		{Path: "cmd/inventoryd", Floor: Top},
		{Path: "cmd/manifest", Floor: Top},
		{Path: "cmd/ratelimit-check", Floor: Top, Uses: []string{grpc, envoy, protobuf}},
		{Path: "cmd/ratelimit-client", Floor: Top, Uses: []string{grpc, envoy, protobuf}},
		{Path: "cmd/ratelimit-load", Floor: Top, Uses: []string{grpc, envoy, protobuf}},
		{Path: "cmd/ratelimitd", Floor: Top, Uses: []string{grpc, envoy, protobuf}},
		{Path: "examples/*", Floor: Top, Uses: []string{grpc, envoy, protobuf}},
	}
}
