// Package ashlar documents the module: four systems as embeddable libraries, each with a thin
// reference server. It contains no code; import the packages below it.
//
// # Layers
//
// A package imports packages of lower layers only (arch_test.go):
//
//	cmd/, examples/       programs: composition only
//	      |
//	*/server              from settings to a running server, as a value
//	      |
//	service, httpapi,     transports over a domain: gRPC, HTTP and JSON
//	httplimit, grpclimit
//	      |
//	store/*, sqlstore,    one concern each, with its third-party client:
//	config, stats, ...    counters, databases, configuration, statistics
//	      |               (Store: the interface that stores implement)
//	ratelimit, inventory, domains: rules and data, standard library only or
//	manifest, bookcatalog nearly so; httpx: the HTTP kit
//	httpx |
//	internal/             plumbing that the systems share
//
// # Rate limits
//
//   - [github.com/ashlar-go/ashlar/ratelimit]: the engine: rules, matching, windows,
//     decisions, limiters, the Store interface. Standard library only.
//   - [github.com/ashlar-go/ashlar/ratelimit/explain]: which rule a request matches, and why.
//   - [github.com/ashlar-go/ashlar/ratelimit/httplimit] and
//     [github.com/ashlar-go/ashlar/ratelimit/grpclimit]: middleware and interceptors.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/memstore]: counters in the process.
//     Standard library only.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/leasestore]: limits that instances share, decided
//     in memory.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/redisstore] and
//     [github.com/ashlar-go/ashlar/ratelimit/store/memcachestore]: counters that instances share.
//   - [github.com/ashlar-go/ashlar/ratelimit/store/storetest]: the conformance suite of stores.
//   - [github.com/ashlar-go/ashlar/ratelimit/localcache]: a cache of counters over their limit.
//   - [github.com/ashlar-go/ashlar/ratelimit/config]: rules from YAML, and following files as
//     they change; [github.com/ashlar-go/ashlar/ratelimit/xds]: rules from a discovery server.
//   - [github.com/ashlar-go/ashlar/ratelimit/quota]: quotas for Envoys that decide by themselves
//   - [github.com/ashlar-go/ashlar/ratelimit/service]: the v3 rate limit service over gRPC and
//     JSON.
//   - [github.com/ashlar-go/ashlar/ratelimit/stats]: statistics, with
//     [github.com/ashlar-go/ashlar/ratelimit/stats/statsd] and
//     [github.com/ashlar-go/ashlar/ratelimit/stats/prom].
//   - [github.com/ashlar-go/ashlar/ratelimit/console]: rules, live rates and configuration as web
//     pages.
//   - [github.com/ashlar-go/ashlar/ratelimit/server]: from environment variables to a running
//     server.
//
// # HTTP
//
//   - [github.com/ashlar-go/ashlar/httpx]: middleware, handlers that return errors, JSON, lists,
//     entity tags, serving. Standard library only.
//   - [github.com/ashlar-go/ashlar/httpx/sanitize]: middleware that rejects HTML markup.
//   - [github.com/ashlar-go/ashlar/httpx/apidocs]: a page for an OpenAPI document.
//   - [github.com/ashlar-go/ashlar/httpx/ui]: the shared look of web pages.
//   - [github.com/ashlar-go/ashlar/httpx/httpxtest]: helpers for tests of handlers.
//
// # Book catalog
//
//   - [github.com/ashlar-go/ashlar/bookcatalog]: the smallest system, and a tour of how all are
//     built.
//   - [github.com/ashlar-go/ashlar/bookcatalog/httpapi]: the catalog as an http.Handler.
//   - [github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite]: books in an SQLite file.
//   - [github.com/ashlar-go/ashlar/bookcatalog/storetest]: the conformance suite of stores.
//
// # Inventory
//
//   - [github.com/ashlar-go/ashlar/inventory]: records and their description, validation,
//     changes, queries, the Store interface, a store in memory.
//   - [github.com/ashlar-go/ashlar/inventory/records]: the engine for records of any schema.
//   - [github.com/ashlar-go/ashlar/inventory/httpapi]: the inventory as an http.Handler.
//   - [github.com/ashlar-go/ashlar/inventory/sqlstore], with
//     [github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite] and
//     [github.com/ashlar-go/ashlar/inventory/sqlstore/postgres]: records in a database.
//   - [github.com/ashlar-go/ashlar/inventory/storetest]: the conformance suite of stores.
//   - [github.com/ashlar-go/ashlar/inventory/accounts]: logins, passwords, resets and throttling.
//   - [github.com/ashlar-go/ashlar/inventory/auth]: identities, roles, passwords and keys, with
//     [github.com/ashlar-go/ashlar/inventory/auth/jwt]: tokens.
//   - [github.com/ashlar-go/ashlar/inventory/auth/oidc]: logins through an OpenID Connect provider.
//   - [github.com/ashlar-go/ashlar/inventory/client]: a client of the API with the types of records.
//   - [github.com/ashlar-go/ashlar/inventory/feed]: follows the changes, over HTTP and in the process.
//   - [github.com/ashlar-go/ashlar/inventory/importer]: rows of files to records.
//   - [github.com/ashlar-go/ashlar/inventory/openapi]: the OpenAPI document.
//   - [github.com/ashlar-go/ashlar/inventory/feature]: a part of an inventory as one value, with operations and pages.
//   - [github.com/ashlar-go/ashlar/inventory/feature/cabling]: the path of cables that a port belongs to.
//   - [github.com/ashlar-go/ashlar/inventory/feature/customfields]: what the deletion of a custom field loses.
//   - [github.com/ashlar-go/ashlar/inventory/feature/events]: events are acknowledged.
//   - [github.com/ashlar-go/ashlar/inventory/feature/hosts]: documents about devices for other programs.
//   - [github.com/ashlar-go/ashlar/inventory/feature/imports]: rows of a file are imported.
//   - [github.com/ashlar-go/ashlar/inventory/feature/ipam]: free addresses and prefixes.
//   - [github.com/ashlar-go/ashlar/inventory/feature/logins]: users log in, and have passwords, sessions and API tokens.
//   - [github.com/ashlar-go/ashlar/inventory/feature/netboxapi]: clients of NetBox read the inventory.
//   - [github.com/ashlar-go/ashlar/inventory/feature/metrics]: the latest measurements, and those over time.
//   - [github.com/ashlar-go/ashlar/inventory/feature/overview]: what the home page and locations say about devices.
//   - [github.com/ashlar-go/ashlar/inventory/feature/proposals]: changes that somebody else approves.
//   - [github.com/ashlar-go/ashlar/inventory/feature/racks]: what occupies a rack.
//   - [github.com/ashlar-go/ashlar/inventory/feature/retention]: the oldest records of a log are deleted.
//   - [github.com/ashlar-go/ashlar/inventory/feature/drift]: differences between what devices report and the inventory.
//   - [github.com/ashlar-go/ashlar/inventory/feature/topology]: the network as a graph and as a map.
//   - [github.com/ashlar-go/ashlar/inventory/feature/views]: lists that are saved with a name.
//   - [github.com/ashlar-go/ashlar/inventory/feature/vlans]: the VLANs of interfaces in forms.
//   - [github.com/ashlar-go/ashlar/inventory/feature/webhooks]: changes that are sent to other programs, signed.
//   - [github.com/ashlar-go/ashlar/inventory/standard]: the list of the features of this module.
//   - [github.com/ashlar-go/ashlar/inventory/site]: what the pages of features and of the console have in common.
//   - [github.com/ashlar-go/ashlar/inventory/demo]: a made-up network.
//   - [github.com/ashlar-go/ashlar/inventory/console]: the inventory as web pages.
//   - [github.com/ashlar-go/ashlar/inventory/server]: from settings to a running server.
//
// # Manifests
//
//   - [github.com/ashlar-go/ashlar/manifest]: reads, validates and migrates server.json.
//     Standard library only.
//   - [github.com/ashlar-go/ashlar/manifest/launch]: from a package to a command line.
//   - [github.com/ashlar-go/ashlar/manifest/registry]: the API of the MCP registry as an http.Handler, the
//     Store interface, a store in memory.
//   - [github.com/ashlar-go/ashlar/manifest/registry/sqlite]: a registry in a file.
//   - [github.com/ashlar-go/ashlar/manifest/registry/registrytest]: the conformance suite of stores.
//   - [github.com/ashlar-go/ashlar/manifest/registry/client]: reads and publishes.
//   - [github.com/ashlar-go/ashlar/manifest/registry/catalog]: the servers of a registry as web pages.
//   - [github.com/ashlar-go/ashlar/manifest/schematest]: compares schema and validator.
//
// # Programs
//
// ashlar (everything in one process), ratelimitd (the rate limit server), ratelimit-client (one
// decision), ratelimit-check (checks a configuration, explains decisions and replays access logs), manifest (validate, resolve, fix, migrate and more),
// inventoryd (the network inventory), inventoryctl (its client), inventory-collect (reads devices over
// SNMP), bookcatalogd (the book catalog).
//
// # Design notes
//
// One module with import rules, checked by a test. Third-party clients are in the one package
// that needs them. The engine and its store in memory import the standard library only, so that
// importing them adds no line to go.sum.
package ashlar
