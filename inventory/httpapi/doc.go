// Package httpapi is the network inventory over HTTP: one http.Handler over any
// inventory.Store, to be served alone or mounted in another router.
//
//	tokens, err := auth.NewTokens([][]byte{key}, nil)
//	guard, err := auth.NewGuard(tokens, httpapi.NewAccountStates(store), nil)
//	api, err := httpapi.New(store, guard, &httpapi.Options{
//		Accounts: &httpapi.Accounts{Tokens: tokens, Hasher: hasher, SendReset: send},
//	})
//	mux.Handle("/inventory/", http.StripPrefix("/inventory", api))
//
// The routes are on one page, routes.go. What is the same for all resources comes from their
// descriptions; the OpenAPI document at /openapi.json is made from both, when it is first
// asked for.
//
// # Records
//
// A record is answered as it is kept, by every route that reads or changes one, with a
// strong ETag of its version. If-Match on PUT, PATCH and DELETE keeps from changing a
// version that one has not seen (412); If-None-Match on GET saves the transfer (304). PUT
// replaces, PATCH changes the fields that it names; what the inventory sets may be sent
// along as it was read.
//
// POST takes one record (201, Location) or an array of up to inventory.MaxItems. PATCH and
// DELETE of a list take an array as well: of objects, each with an id and maybe
// if_version, or of ids. All items are done or none, and the error has every item that
// failed, in items, by index and id:
//
//	{"status":"success","message":"Bulk update completed successfully","updated":2,"results":[…]}
//
// The results are the records, in the order of the items; of those that were deleted, the ids.
//
// With dry_run=true a change is answered as it would be, with the header Dry-Run: true, and
// is not made: by every route that changes something, logins among them, which get no token
// then. With an Idempotency-Key a POST of records is done once in 24 hours: the same
// request is answered as the first time, with Idempotent-Replayed: true, and
// another one with the same key is a 422.
//
// # Lists
//
// inventory.ParseQuery says what lists can be asked for. meta has current_page, limit,
// total_pages and total_count, and next_cursor if there is more; there is no current_page
// behind a cursor, and no total with count=false. Events and the audit log begin with the
// newest, unless sortby says otherwise.
//
// GET /metrics is an overview: the latest metric of each device, the latest first. The
// parameter sort is a short form of sortby, with value, cpu, memory, temp, uptime or ts;
// value is how busy a device is, which is its cpu. latest=false lists all metrics.
//
// # Accounts
//
// A [Authenticator] says who sends a request, and package auth what they may. Login, logout,
// passwords and resets, and all else under /users, need [Accounts]; without them accounts
// are the application's own, those routes are not there, and the audit log has its users
// by name. [FirstAdmin] and [SigningKey] are for a program that starts.
//
// # Errors
//
// Errors are those of httpx: 400 with each field that is wrong, 401, 403, 404, 405 with
// Allow, 409, 412, 413, 415, 422, 429 and 503 with Retry-After, and 500, which shows nothing.
//
// # Design notes
//
// The handler brings the whole chain of httpx with it, because it is what a new user mounts
// first. In a router that has such layers itself they do no harm.
//
// Records are written by an encoder made from the description of their resource, and not by
// encoding/json: that is most of what a list costs. It takes a third of the time and
// allocates nothing, and is fuzzed against encoding/json.
//
// Unknown parameters are refused on every route, not just by lists: a DELETE with a filter
// that is ignored would be the worst of them.
//
// GET / needs a token, as the specification's access rule has it: it names the four routes
// that need none. /debug/count is there for those who only want to know whether anybody
// answers.
//
// Guesses are counted when they fail, in bounded memory, for the account and for the
// address. They are looked at before a password is verified, and again after it, so that
// of a hundred at once no more are told than of a hundred in a row. The price of
// counting by account is that somebody can keep a user from logging in, for a minute at a
// time, by guessing; a lock that only an admin can open would be worse.
//
// The answer to a forgotten password takes a multiple of 100 ms, whether there is such an
// address or not. Doing the same work for nobody would be a change in the database that
// nobody asked for.
//
// A reset code is part of the path, as in the reference service. It is taken out before
// anything is logged here; a router outside of this one that logs paths must do the same.
//
// Nobody deletes their own record or changes their own role or inactive_status, admins
// included, so that there is always one admin left.
//
// A replay is found by the key and a hash of the request. Passwords are left out of it: a
// fast hash of them has no place in a database. Receipts are kept in the transaction
// of their change, so there is never one without the other. Old ones go when new ones come.
//
// A store may read from a replica. What lets somebody in or keeps them out, and whether a
// request with an Idempotency-Key was made before, is read fresh (inventory.Fresh), and
// preconditions are looked at in the transaction of the change. Other reading may be a moment
// behind: that is what a replica is for.
//
// What a request waits for has an end (Options.Timeout). A server's own timeouts end
// the connection only, and who waits for a database that does not answer would wait on.
//
// Events don't change, but for being acknowledged. Whether, is the client's to say; when
// and by whom, the inventory's.
package httpapi
