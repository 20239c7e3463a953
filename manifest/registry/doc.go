// Package registry serves tool server manifests over the API of the public MCP registry, versions v0.1
// and v0: one http.Handler over any [Store].
//
//	tokens, err := registry.Tokens(map[string][]string{os.Getenv("TOKEN"): {"io.github.alice"}})
//	if err != nil {
//		return err
//	}
//	handler := registry.NewHandler(registry.NewMemStore(nil), &registry.Options{Authorize: tokens})
//
// The routes, below /v0.1 and /v0. Server names have a slash, which is %2F in a path:
//
//	GET   /servers                                    a page of versions, by name and version
//	GET   /servers/{name}/versions                    all versions of a server, newest first
//	GET   /servers/{name}/versions/{version}          a version, or "latest"
//	POST  /publish                                    adds a version
//	PATCH /servers/{name}/versions/{version}/status   changes the status of a version; PUT does too
//	PATCH /servers/{name}/status                      changes the status of all versions; PUT does too
//	POST  /validate                                   all problems of a manifest
//	POST  /auth/github-at                             login of publishers: exchanges a token for itself
//	GET   /health, /ping, /version                    about the service
//	GET   /openapi.json, /docs/, /server.schema.json  the description of the API, not below a version
//
// [MemStore] keeps versions in memory, package registry/sqlite in a file. Package registry/registrytest is
// the conformance suite of stores, registry/client reads and publishes, registry/mirror copies a registry,
// registry/catalog has web pages. manifest/REFERENCE.md, 15, describes the behaviour.
//
// # Design notes
//
// Pages of all origins may read, without credentials, because editors and catalogs are such pages and cookies are not used.
// Everything else is refused for other origins, unless Chain.Origins lists them. A private registry sets
// Options.AuthorizeRead; whom a browser has signed in does not matter then either.
//
// The login returns the token that it gets, so that the publisher of the public registry works with tokens of
// [Tokens]: it has no login with a token of a registry.
//
// A version cannot be changed after it was published; its status can. A deleted version stays in the store,
// so that mirrors learn of it.
//
// A store decides which version of a server is the latest, in the transaction that changes the server, by
// [Latest]. It does so for mirrored versions too: a source may leave out versions whose only change is
// that another one is the latest now.
//
// A list with updated_since is sorted by the time of the change and not by name. A version that changes
// while a client reads page after page moves to the end and is not missed.
//
// The cursor has the position in the list and nothing else. It is not signed, because a client could request
// everything in it directly.
//
// search looks for a part of the name, title or description of the latest version of a server, because
// that is what people look for; an index by server is a fraction of one by version.
//
// Unknown query parameters are ignored, other than by the handlers of this module for APIs of its own:
// clients of the public registry may send parameters of later versions of the API.
//
// Errors are problem details (RFC 9457) with the members that clients of the public registry read.
package registry
