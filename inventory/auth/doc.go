// Package auth has what an API knows of its users: identities, roles and permissions, passwords,
// reset codes, signing keys, and where requests carry a token. It does not depend on the inventory's
// records or stores, so other APIs can use it. Package auth/jwt issues and verifies tokens; package auth/oidc
// logs users in through an OpenID Connect provider.
//
// # Identities
//
// An [Identity] is who sends a request: user, role, session, and optional scopes. A program with
// accounts of its own makes it from these; for others a jwt.Guard does.
//
// # Passwords
//
// [CheckPassword] validates a new password. A [Hasher] hashes and verifies passwords with Argon2id
// in PHC form:
//
//	hasher, err := auth.NewHasher(nil)
//	stored, err := hasher.Hash(ctx, password)
//	ok, err := hasher.Verify(ctx, stored, password) // stored is "" for an unknown user
//	if ok && hasher.NeedsRehash(stored) {
//		stored, err = hasher.Hash(ctx, password)
//	}
//
// Forgotten passwords are reset with a mailed code: [NewReset], [LookupReset], [Reset.Check]. A second
// factor is a code of an authenticator app, [NewTOTPSecret] and [CheckTOTP], or one of the user's
// [NewRecoveryCodes].
//
// # Tokens and keys
//
// A token is sent in a header or a cookie: [Cookie.Set], [Cookie.Clear], [Cookie.FromRequest].
//
// A [KeySet] is the keys of several processes in a file or a database. Its rotation has two steps: a
// new key first verifies in all processes, then signs; the old one verifies until its last token has
// expired.
//
// # Access
//
// A [Permission] names the roles that it includes, and whether it includes the owner of a record.
// [Authorize] applies it to an identity:
//
//	err := auth.Authorize(who, auth.Permission{Roles: []auth.Role{auth.Admin}}, "")
//
// # Errors
//
// Errors for clients are an [*Error] with a [Kind] and a safe message. Invalid settings are plain
// errors of the constructors. No error contains a password, a hash, a key or a token.
//
// # Design notes
//
// Hashing is limited by memory, not by the number of calls: 19 MiB for each of two hundred logins
// would be 4 GB. Stored hashes contain their cost, which is checked before any work; a hash that
// needs more than the total waits until it can run alone. Waiting ends with the context. A
// computation does not: the algorithm cannot be interrupted and takes about 30 ms. [WithOrigins] makes
// a Hasher serve networks in turn, so that whoever guesses passwords waits for themselves.
//
// A login of an unknown user takes as long as one of a known user, except for stored hashes with
// another cost, which the next login replaces ([Hasher.NeedsRehash]).
//
// The default cost is 19 MiB and two passes in one lane, not 64 MiB in four lanes: the same
// protection for a third of the memory, and a login uses one CPU only. Stored hashes with other
// costs are verified.
//
// Passwords are bytes of UTF-8 without normalisation, as in most services. Normalisation tables
// change with Unicode versions, and stored hashes cannot follow.
//
// Frequently used passwords are found in a map, also with digits after them and with digits for
// letters. An estimate of strength would refuse more, with reasons that no message could name.
//
// The scheme Bearer is accepted in any case (RFC 9110). The cookie lasts 24 hours even if the token
// does not: an expired token is rejected, and the next login replaces the cookie.
//
// Reset codes are random and stored as a hash; they are not tokens, which could be used repeatedly
// and whose key could create codes for all users. The stored form contains a digest of the old
// password's hash, so that any change of the password invalidates the code.
//
// Codes of authenticator apps are 30 lines over crypto/hmac. The usual library would add a dependency
// that draws bar codes, and does not return the time step of a code, without which a code would work
// more than once. SHA-1, six digits and 30 seconds are what all apps support. Secrets are stored as
// they are, because the server computes with them; recovery codes have 80 random bits, so a fast hash
// suffices.
//
// Randomness is not configurable, so that nobody can choose salts and codes.
package auth
