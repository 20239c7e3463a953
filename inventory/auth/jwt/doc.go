// Package jwt authenticates users by JWTs that it signs with HS256.
//
// [Tokens] issues and verifies them. A [Guard] authenticates requests: it verifies the token and
// checks that the account is active. It is an Authenticator of inventory/httpapi:
//
//	tokens, err := jwt.NewTokens([][]byte{secret}, nil)
//	token, expires, err := tokens.Issue(auth.Identity{UserID: id, Username: name, Role: auth.Viewer})
//	guard, err := jwt.NewGuard(tokens, accounts, nil)
//	who, err := guard.Authenticate(r)
//
// The keys may come from an auth.KeySet; [Tokens.SetKeys] puts a changed set into use.
//
// # Design notes
//
// Tokens have no kid header. Trying a handful of keys costs a microsecond, and no header can then
// influence the choice of the key.
//
// The role is read from the token, and a [Guard] rejects tokens that grant more than the account has
// now (REFERENCE.md, 3.1), or whose session has ended. A list of revoked tokens would grow and be
// needed in every process; sessions are deleted with the tokens that they belong to. Changes in
// another process take effect after GuardOptions.Remember; who changes something for a user reads
// their account again, as inventory/accounts does.
//
// A [Guard] caches verified tokens, so that a request costs a hash and not the decoding of JSON.
// Validity times and accounts are still checked. After a promotion, an old token keeps the old role.
package jwt
