// Package httpapi serves a network inventory over HTTP: one http.Handler over any
// records.Store, to run alone or to mount in another router. inventory/REFERENCE.md
// describes the rules of the API.
//
//	tokens, err := jwt.NewTokens([][]byte{key}, nil)
//	guard, err := jwt.NewGuard(tokens, accounts.NewStates(store), nil)
//	users, err := accounts.New(engine, hasher, &accounts.Options{Notify: notify})
//	defer users.Close()
//	own, err := logins.New(users, tokens, nil)
//	api, err := httpapi.New(engine, guard, &httpapi.Options{Features: append(standard.Features(), own)})
//	mux.Handle("/inventory/", http.StripPrefix("/inventory", api))
//
// The table of all routes is in routes.go, and permission.go decides who may use them. The operations that resources
// have in common, and the OpenAPI document at /openapi.json, are derived from the descriptions of the resources. All
// others are those of Options.Features: package standard lists the features of this module.
//
// # Records
//
// Every route that reads or changes a record responds with the stored record and a strong
// ETag of its version. If-Match on PUT, PATCH and DELETE prevents lost updates (412);
// If-None-Match on GET saves the transfer (304). PUT replaces a record, PATCH changes some of
// its fields; read-only fields may be sent back as they were read.
//
// POST accepts one record (201, Location) or an array of up to records.MaxItems. PATCH and
// DELETE of a list accept an array of objects, each with an id and optionally if_version, or
// an array of ids. All items are applied atomically; the error lists every failed item by
// index and id:
//
//	{"status":"success","message":"Bulk update completed successfully","updated":2,"results":[…]}
//
// The results are the records in the order of the items, or the ids of deleted records.
//
// With dry_run=true a change is validated and gets its usual response, with the header
// Dry-Run: true, but is not made. A dry run of a login issues no token. With an
// Idempotency-Key a POST of records is executed once in 24 hours: a repeated request gets the
// first response with Idempotent-Replayed: true, and another request with the same key is
// refused with 422.
//
// # Lists
//
// records.ParseQuery documents the parameters of lists. meta has current_page, limit,
// total_pages, total_count, and next_cursor unless the page is the last; after a cursor
// there is no current_page, and with count=none there are no totals; with count=estimated meta
// has count, which is estimated or exact. Events and audit log
// entries are listed newest first by default.
//
// # Accounts
//
// An [Authenticator] identifies the sender of a request, and package auth has the access
// rules. The routes under /users need [Accounts], whose rules are in package accounts; without them
// the accounts are the application's own, and the audit log has their names only.
//
// # Errors
//
// Errors are those of httpx: 400 with each invalid field, 401, 403, 404, 405 with Allow, 409,
// 412, 413, 415, 422, 429 and 503 with Retry-After, and 500 without details.
//
// # Design notes
//
// The handler includes the middleware of httpx, so that a program that mounts it needs no
// other. In a router with the same middleware it does no harm. [API.Bare] is without it.
//
// Package jwt is not imported: a program with accounts of its own does not link it.
//
// Unknown query parameters are refused on every route: a DELETE with an ignored filter would
// be the worst case.
//
// GET / needs a token; the access rule of the API exempts only the routes for logins and
// forgotten passwords and /debug/count, which serves as a public health check.
//
// A reset code is part of the path, as in the reference service. It is removed from the URL
// before anything is logged here; an outer router that logs paths must do the same.
//
// A repeated request is recognized by its key and a hash of the request, without passwords: a
// store should not have a fast hash of them. The response is stored in the transaction of the
// change, so that neither exists without the other. New responses prune old ones.
//
// Reads of accounts and of idempotency keys bypass replicas (records.Fresh), and
// preconditions are evaluated in the transaction of the change. Other reads may lag behind.
//
// Options.Timeout bounds what a request waits for, because the timeouts of a server end the
// connection only.
package httpapi
