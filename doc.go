// Package ashlar is the map of a house of embeddable libraries with thin reference
// servers. There is no code here; import the packages below it.
//
// # Rate limits
//
//   - [github.com/ashlar-go/ashlar/ratelimit]: the engine: rules, matching, windows,
//     decisions, the Store seam. Standard library only.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/memstore]: counters in the process.
//     Standard library only.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/storetest]: what every store must
//     do, as tests, and the benchmark every store runs.
//   - [github.com/ashlar-go/ashlar/ratelimit/httplimit]: net/http middleware, and
//     [github.com/ashlar-go/ashlar/ratelimit/grpclimit]: interceptors for a gRPC server.
//   - [github.com/ashlar-go/ashlar/ratelimit/explain]: which rule a request matches, and why.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/redisstore]: counters in Redis, shared
//     by all instances, and [github.com/ashlar-go/ashlar/ratelimit/store/memcachestore]: on
//     memcached nodes. [github.com/ashlar-go/ashlar/internal/redistest] and
//     [github.com/ashlar-go/ashlar/internal/memcachetest] start real ones for tests, and
//     [github.com/ashlar-go/ashlar/internal/servertest] any other server.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/breaker]: keeps calls away from a store
//     that does not answer.
//   - [github.com/ashlar-go/ashlar/ratelimit/config] and
//     [github.com/ashlar-go/ashlar/ratelimit/xds]: rules from YAML files and from a
//     discovery server, and their changes.
//   - [github.com/ashlar-go/ashlar/ratelimit/localcache]: remembers counters over
//     their limit, for stores that are far away.
//   - [github.com/ashlar-go/ashlar/ratelimit/service]: the v3 rate limit service over
//     gRPC and JSON, for your server or ours.
//   - [github.com/ashlar-go/ashlar/ratelimit/stats]: statistics by name, with
//     [github.com/ashlar-go/ashlar/ratelimit/stats/statsd] to push them and
//     [github.com/ashlar-go/ashlar/ratelimit/stats/prom] to have them scraped.
//   - [github.com/ashlar-go/ashlar/ratelimit/tracing]: OTLP spans.
//   - [github.com/ashlar-go/ashlar/internal/tlsfiles],
//     [github.com/ashlar-go/ashlar/internal/watch] and
//     [github.com/ashlar-go/ashlar/internal/backoff]: TLS configurations from files, changes
//     in directories, waits between attempts. [github.com/ashlar-go/ashlar/internal/certstest]
//     creates certificates for tests.
//   - [github.com/ashlar-go/ashlar/ratelimit/settings] and
//     [github.com/ashlar-go/ashlar/ratelimit/server]: from environment variables to a
//     running server. [github.com/ashlar-go/ashlar/internal/settings] reads the tables of
//     settings of all programs.
//   - [github.com/ashlar-go/ashlar/ratelimit/internal/modeltest]: the rules once more, by brute
//     force, to hold the engine and stores against.
//
// # HTTP
//
//   - [github.com/ashlar-go/ashlar/httpx]: layers, handlers that return errors, JSON in
//     and out, lists, entity tags, serving. Standard library only.
//   - [github.com/ashlar-go/ashlar/httpx/sanitize]: the layer that keeps markup out.
//   - [github.com/ashlar-go/ashlar/httpx/apidocs]: a page for the OpenAPI document of an API.
//   - [github.com/ashlar-go/ashlar/httpx/httpxtest]: helpers for tests of handlers.
//
// # Book catalog
//
//   - [github.com/ashlar-go/ashlar/bookcatalog]: the smallest system, and the tour of how
//     all of them are built.
//   - [github.com/ashlar-go/ashlar/bookcatalog/httpapi]: the catalog as an http.Handler.
//   - [github.com/ashlar-go/ashlar/bookcatalog/sqlstore] and
//     [github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite]: books in a database.
//   - [github.com/ashlar-go/ashlar/bookcatalog/storetest]: what every store must do.
//
// # Inventory
//
//   - [github.com/ashlar-go/ashlar/inventory]: records and their one description, checks,
//     changes, queries, the Store seam, a store in memory.
//   - [github.com/ashlar-go/ashlar/inventory/httpapi]: the inventory as an http.Handler, for
//     your router and your users, or ours.
//   - [github.com/ashlar-go/ashlar/inventory/sqlstore]: records in a database, with
//     [github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite] and
//     [github.com/ashlar-go/ashlar/inventory/sqlstore/postgres] to open one.
//     [github.com/ashlar-go/ashlar/internal/postgrestest] starts a real one for
//     tests, and [github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest] is what the
//     tests of both have in common.
//   - [github.com/ashlar-go/ashlar/inventory/storetest]: what every store must do.
//   - [github.com/ashlar-go/ashlar/inventory/auth]: passwords, tokens, roles and who may do
//     what.
//   - [github.com/ashlar-go/ashlar/inventory/mail]: mails, through a server or into the log.
//   - [github.com/ashlar-go/ashlar/inventory/openapi]: the OpenAPI document of it all.
//   - [github.com/ashlar-go/ashlar/inventory/demo]: a network to try things with.
//   - [github.com/ashlar-go/ashlar/inventory/server]: from settings to a running server.
//
// # Manifests
//
//   - [github.com/ashlar-go/ashlar/manifest]: reads, validates and migrates server.json.
//     Standard library only.
//   - [github.com/ashlar-go/ashlar/manifest/launch]: turns a package or remote into a command
//     line or an endpoint.
//   - [github.com/ashlar-go/ashlar/manifest/fetch]: downloads bundle files and verifies them.
//   - [github.com/ashlar-go/ashlar/manifest/schematest]: compares the schema with the
//     validator.
//
// # Programs
//
// All are a few lines over the packages above: ashlar (everything in one process),
// ratelimitd (the rate limit server), ratelimit-client (asks for one decision),
// ratelimit-load (asks for very many), ratelimit-check (what is wrong with a
// configuration, and which rule a request meets), manifest (validate, resolve, fix,
// migrate and more), inventoryd (the network inventory), bookcatalogd (the book catalog).
//
// # Design notes
//
// One module, floors and a law. Every package has a floor and imports lower floors
// only; third-party clients live in the one package that needs them; the engine and
// its store in the process import the standard library alone, so that importing them
// adds no line to anybody's go.sum. The law is a test (cmd/internal/archtest), and so
// is the public face: a listing of each package's API is kept beside it, and a change
// shows in review.
package ashlar
