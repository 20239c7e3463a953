// Package server composes a whole rate limit server from settings. It is what
// ratelimitd runs, and it embeds as a whole:
//
//	s, err := settings.Parse(environ)
//	...
//	srv, err := server.New(s, nil)
//	...
//	err = srv.Run(ctx) // until ctx ends
//
// A program that wants a part of it takes the parts: package service mounts in
// any gRPC server and router, and so on.
//
// # Listeners
//
//	gRPC    the v3 rate limit service and gRPC health; TCP or a unix socket, TLS
//	HTTP    POST /json, GET /healthcheck
//	debug   / lists it: /debug/pprof/, /rlconfig, /stats
//	scrape  SCRAPE_PATH, if USE_SCRAPE is set
//
// # Start and end
//
// New reads what is on the disk and fails if it makes no sense. Run opens the debug and
// scrape listeners, waits for the counter store to answer and for a first configuration
// (FORCE_START_WITHOUT_INITIAL_CONFIG does without), and then opens the two for decisions.
// It fails before the wait if one of these can't be opened.
//
// When ctx ends, health turns unhealthy at once and everything else goes on for
// the drain delay, so that balancers have time to look elsewhere; then calls
// under way may finish, up to a deadline; then the last statistics and spans are sent.
//
// # Design notes
//
// Run owns every goroutine it starts and returns when all have ended.
//
// What decisions can do without does not end them: if a listener for operators fails, or
// directories can't be watched, the log says so and decisions go on. If one of their own
// listeners fails, the server ends.
//
// Health watches are ended by us: their clients never would (ruling 11).
//
// Listeners do not share their port with another process. Two servers that by
// mistake split the traffic of one address are worse than one that does not start.
//
// The pages under /debug/pprof/ are made here and not by net/http/pprof, which would
// register them for whatever else the program serves.
//
// Two statistics keep the names that they have had since there was only one kind of
// store, ratelimit.service.call.should_rate_limit.redis_error and ratelimit.redis_pool:
// dashboards ask for them. One is ours beside those of the reference service (1.14): the
// gauge ratelimit.service.config_load_ok, because counters do not tell whether a success
// or an error came last.
package server
