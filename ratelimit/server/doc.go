// Package server builds a complete rate limit server from settings. The program ratelimitd
// runs it, and other programs can embed it:
//
//	s, err := server.ParseSettings(environ)
//	...
//	srv, err := server.New(ctx, s, nil)
//	...
//	err = srv.Run(ctx) // until ctx ends
//
// A program that needs only some of its parts uses their packages: package service mounts
// in any gRPC server and HTTP router, for example.
//
// # Listeners
//
//	gRPC    the v3 rate limit service and gRPC health; TCP or a unix socket, TLS
//	HTTP    POST /json, GET /healthcheck
//	debug   /debug/pprof/, /healthz, /rlconfig, /stats; / lists them
//	scrape  SCRAPE_PATH, if USE_SCRAPE is true
//
// All but gRPC respond to GET /livez with 200, and to GET /readyz with 200 or 503.
//
// # Start and shutdown
//
// New reads certificates and mapping files and fails if they are invalid. Run opens the
// debug and scrape listeners, waits for the counter store and for a first configuration
// (unless FORCE_START_WITHOUT_INITIAL_CONFIG is true), and then opens the other two. It
// checks before the wait that they can be opened.
//
// When ctx ends, the server turns unhealthy and keeps serving for SHUTDOWN_DRAIN_DELAY, so
// that load balancers can react. Open calls then have SHUTDOWN_TIMEOUT to finish. The last
// statistics and spans are sent after that.
//
// # Design notes
//
// Run waits for every goroutine that it starts.
//
// Failures of the debug and scrape listeners and of file watching are logged, not fatal. A
// failure of the gRPC or HTTP listener ends the server.
//
// The server ends health watches at shutdown: their clients never would, and a graceful
// stop waits for them. It also closes connections that have not completed their handshake.
//
// Listeners do not use SO_REUSEPORT. Two servers that share an address by mistake are worse
// than one that fails to start.
//
// The pages under /debug/pprof/ do not use net/http/pprof, which registers them with
// http.DefaultServeMux of the embedding program.
//
// Two statistics have names that refer to Redis whatever the store is,
// ratelimit.service.call.should_rate_limit.redis_error and ratelimit.redis_pool, because
// dashboards for the reference service use them. The gauge
// ratelimit.service.config_load_ok is an extension: counters do not show whether a success
// or an error came last.
package server
