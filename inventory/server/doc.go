// Package server makes a whole inventory of settings: the database, the API with its
// documentation, logins, mails, limits, TLS. The program inventoryd is it and a command
// line; a program that wants the same among other things imports it.
//
//	settings, err := server.Parse(environ, nil)
//	if err != nil {
//		return err // everything that is wrong, by the names of the settings
//	}
//	err = server.Run(ctx, settings, nil) // until ctx ends
//
// Or, to put it into a server of one's own:
//
//	srv, err := server.New(ctx, settings, &server.Options{Log: log})
//	// ...
//	defer srv.Close()
//	mux.Handle("/inventory/", http.StripPrefix("/inventory", srv.Handler()))
//
// [Table] is every setting with its environment variable, its flag, its default and what
// it is for. Beside the routes of httpapi there is GET /healthz, which answers 200 as long
// as the database answers, and 503 otherwise.
//
// # Design notes
//
// The settings are a table of rows with a function each, and the struct that they fill.
// A library that fills structs by their tags would save some lines and cost the messages:
// what is wrong with a value, and what would be right, differs from row to row.
//
// Secrets have no flags. What stands on a command line can be read in every list of
// processes.
//
// A program that has not been told a secret for tokens makes one and keeps it in the
// database, so that tokens survive a restart, and servers that share a database take each
// other's.
//
// When the Redis of RATE_LIMIT_REDIS_URL does not answer, each server counts by itself until
// it does. A limit that is per server for a while is better than none, and than an
// inventory that is gone because its limiter is. The Redis is not connected to at the
// start for the same reason.
//
// X-RateLimit-Reset is a time, in Unix seconds, as it is with the reference service.
//
// Health checks are not held to the limit and not logged. They show nothing and ask the
// database one cheap question.
//
// The handler is closed by Close and not by the end of Serve, because a program may mount
// it and never call Serve.
package server
