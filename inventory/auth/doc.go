// Package auth is how the inventory knows who asks, and what they may do: passwords,
// tokens, cookies, roles. It knows nothing of the inventory's records or stores, so it
// serves any other API as well.
//
// # Passwords
//
// [CheckPassword] says whether a new password will do, and a [Hasher] stores and
// compares it, with Argon2id in PHC form:
//
//	hasher, err := auth.NewHasher(nil)
//	stored, err := hasher.Hash(ctx, password)
//	ok, err := hasher.Verify(ctx, stored, password) // stored is "" for an unknown user
//	if ok && hasher.NeedsRehash(stored) {
//		stored, err = hasher.Hash(ctx, password)
//	}
//
// A forgotten one is replaced with a code that is mailed: [NewReset], [LookupReset],
// [Reset.Check].
//
// # Tokens
//
// [Tokens] issues and verifies JWTs. They travel in a header or a cookie: [SetCookie],
// [ClearCookie], [FromRequest]. A [Guard] looks a token up in a request, verifies it,
// and asks whether its user still stands:
//
//	tokens, err := auth.NewTokens([][]byte{secret}, nil)
//	token, claims, err := tokens.Issue(auth.Identity{UserID: id, Username: name, Role: auth.Viewer})
//	guard, err := auth.NewGuard(tokens, accounts, nil)
//	claims, err = guard.Authenticate(r)
//
// # Access
//
// [Allowed] is the access rule as a table: a [Role], an [Action], and whether the
// record is one's own. [Authorize] is the same for a verified token:
//
//	err := auth.Authorize(claims, auth.WriteLinks, "")
//
// # Errors
//
// What a client is to be told is an [*Error] with a [Kind] and a message that is
// safe to show. Wrong settings are plain errors of the constructors, and the end of a context
// is that context's error. No error has a password, a hash, a key or a token in it.
//
// # Design notes
//
// Memory is what hashing is bounded by, and not the number of calls: 19 MiB a hash
// times two hundred logins would be 4 GB. Stored hashes say how much they take, so
// bounds come before any work, and one that asks for more than all the room waits until
// it is alone. A call in line can end with its context, one that is being computed can't:
// the algorithm has no place to stop, and takes some 30 ms.
//
// An unknown user costs what a known one does, except for hashes with another cost, from
// before a change or from elsewhere. Their first login makes them new ([Hasher.NeedsRehash]).
//
// The default cost is 19 MiB and two passes in one lane, rather than the reference
// service's 64 MiB in four: the same protection for a third of the memory, and a
// login does not take all processors from the requests beside it. Its hashes are verified.
//
// Passwords are bytes of UTF-8 and not normalised. Two ways to type one accent are two
// passwords, as with most services; the alternative needs tables that change with
// each version of Unicode, and a hash can't be changed with them.
//
// The list of common passwords is text in this package, searched line by line: some
// microseconds, before a hash that takes a thousand times that. Nothing is looked up
// elsewhere.
//
// Tokens have no kid. With a handful of keys, trying each costs a microsecond, and what a
// token's header says never has a part in choosing what verifies it.
//
// Roles are read from the token, as the specification wants, and a [Guard] refuses
// tokens that say more than is true by now (reference, ruling 11). A list of revoked
// tokens would grow, and be needed everywhere; one number for each user, the epoch,
// is part of the row that is read anyway. The price: a logout ends all of a user's
// sessions. What another process changed counts after GuardOptions.Remember.
//
// A [Guard] also remembers which tokens it has verified, so that a request costs a hash
// and not a JSON document. Their times, and their users' standings, it looks at again.
//
// A promoted user's old token goes on with the old role: it says less than is true.
//
// The scheme Bearer is taken in any case (RFC 9110), where the reference service wants one
// spelling and would go on to the cookie. The cookie has 24 hours, as specified, even
// if the token has less: an expired token is refused, and the next login replaces it.
//
// Reset codes are random and stored hashed; they are no tokens. A token could not be used
// up, and its key could make codes for everybody. What is stored has a mark of the old
// password's hash, so that a code dies with the password it was to replace, whoever
// changed that.
//
// Randomness is not an option. Nobody should be able to choose salts and codes, and
// no test has to.
package auth
