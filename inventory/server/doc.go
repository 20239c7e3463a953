// Package server builds a complete inventory server from settings: database, API and its
// documentation, accounts, mail, rate limit, TLS. The program inventoryd runs it, and other
// programs can embed it:
//
//	settings, err := server.Parse(environ, nil)
//	if err != nil {
//		return err // all invalid settings, by name
//	}
//	err = server.Run(ctx, settings, nil) // until ctx ends
//
// To mount it in another HTTP server:
//
//	srv, err := server.New(ctx, settings, &server.Options{Log: log})
//	// ...
//	defer srv.Close()
//	mux.Handle("/inventory/", http.StripPrefix("/inventory", srv.Handler()))
//
// [Table] describes all settings: environment variable, flag, default and purpose. Besides
// the routes of httpapi there are GET /livez, which responds 200, and GET /readyz and /healthz, which respond 200 if the
// database responds, and 503 otherwise and during a shutdown.
//
// # Design notes
//
// Settings are a table of rows, each bound to a field. A new setting is a field and a row.
//
// Secrets have no flags: command lines are visible in process lists.
//
// Without JWT_SECRET the server generates a key and stores it in the file JWT_SECRET_FILE, or
// else in the database, so tokens survive a restart, and servers that share it accept each
// other's tokens. [RotateKey] replaces it without ending sessions: servers read the keys every
// five seconds, and a new one signs after thirty.
//
// If the Redis server of RATE_LIMIT_REDIS_URL fails, each server counts separately until it
// recovers. A limit per server is better than none, and better than an inventory that is
// unavailable because of its limiter. For the same reason the start does not wait for Redis.
//
// X-RateLimit-Reset is a time in Unix seconds, as in the reference service.
//
// A server answers only for the hosts of its listener and its settings, which protects against
// DNS rebinding. A handler that is mounted elsewhere leaves that to its own server.
//
// Health checks are neither limited nor logged. They reveal nothing and cost one cheap query.
//
// Close, not the end of Serve, closes the handler: a program may mount it and never call
// Serve.
package server
