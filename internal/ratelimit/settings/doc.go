// Package settings reads the settings of a rate limit server from environment variables:
// listeners, source of the configuration, counter stores, statistics, tracing.
//
//	s, err := settings.Parse(map[string]string{"GRPC_PORT": "9081", "REDIS_URL": "redis:6379"})
//
// Names and defaults are those of the reference service (envoyproxy/ratelimit), so its
// environments work unchanged (REFERENCE.md, 7.5). Some settings have a second, neutral
// name: KVSTORE_URL and REDIS_URL are one setting, and so are USE_SCRAPE and
// USE_PROMETHEUS. Setting both names to different values is an error.
//
// [Table] lists all settings, [Effective] shows their values in one environment and where
// they come from, and [Warnings] finds unknown variables and settings without effect.
//
// # Values
//
// An empty variable counts as unset. Only HOST, DEBUG_HOST, GRPC_HOST and
// RUNTIME_APPDIRECTORY may be empty: an empty host means all addresses, an empty directory
// means none. The reference service refuses to start if a number, boolean or duration is
// empty and uses empty strings as they are, but templates leave variables empty to mean
// "not set".
//
// Numbers, booleans and durations are written as in Go: 10, 0x10; true, 1, false, 0; 1m30s,
// 150us. Keywords ignore case, and the fields hold the constants of this package. Lists of
// pairs are name:value,name:value; each pair may be enclosed in angle brackets, and a value
// in brackets may contain commas.
//
// # Errors
//
// Parse reports all invalid variables at once, one to a line, by the names that the
// environment uses, with what is accepted. Settings that are not in use may be incomplete,
// but not malformed. Errors do not show passwords, headers, or what precedes an "@".
//
// # Design notes
//
// A new setting is a field of Settings and a row of the table in table.go; SETTINGS.md of
// ratelimitd is generated from the table (go test . -update in the module's root).
//
// The environment is a map. The process environment is never read, so tests run in parallel
// and one process can hold several servers.
//
// Some defaults differ from the reference service. An empty pool opens one more
// connection (CREATE) after 1s. GRPC_MAX_CONCURRENT_STREAMS is 1000, which bounds memory. BACKEND_TYPE and KVSTORE_SOCKET_TYPE depend on KVSTORE_URL.
// KVSTORE_PERSECOND_URL has none: two stores at the same default address are probably a
// mistake.
//
// A value that Kubernetes sets for a service with an unfortunate name
// (STATSD_PORT=tcp://...) is refused with an explanation instead of ignored: it may be
// meant as the address.
//
// Settings without effect are not in the table: an unknown name is better reported than
// accepted and ignored. KVSTORE_PIPELINE_LIMIT is the exception; the reference service
// ignores it too, and Warnings reports it.
package settings
