// Package oidc logs users in through an OpenID Connect provider, with the authorization code flow and
// PKCE (RFC 7636).
//
//	provider, err := oidc.New(&oidc.Options{
//		Issuer: "https://id.example.org", ClientID: "inventory", ClientSecret: secret,
//		RedirectURL: "https://inventory.example.org/users/oidc/callback",
//		Keys: func() [][]byte { return tokens.Derive(oidc.KeyPurpose) },
//		RoleClaim: "groups", Roles: []oidc.RoleOf{{"net-admins", auth.Admin}, {"noc", auth.Editor}},
//	})
//	location, err := provider.Begin(w, r, "/docs/")      // redirect the browser there
//	who, returnTo, err := provider.Finish(w, r)          // when it comes back
//	identity, err := service.LoginExternal(ctx, request, who)
//
// inventory/httpapi serves both steps. Errors are [*auth.Error] of the kinds LoginRefused and
// ProviderUnavailable. Neither they nor logs contain codes, tokens or the client secret.
//
// # Design notes
//
// A login in progress is in a cookie of the browser, encrypted with the keys of Options.Keys: strangers
// who begin logins cost no memory, and any process with these keys finishes the login. It ends after ten
// minutes. A code works once at the provider and for this cookie only.
//
// The provider is asked for its configuration at the first login and once an hour, so that a program
// starts without it. Its URLs come from that configuration and never from a request. The number of
// requests to it at once, their time, the size of its responses and redirects are limited.
//
// Only asymmetric signatures are accepted: the key of HS256 would be the client secret.
package oidc
