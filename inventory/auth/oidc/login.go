package oidc

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// The messages for users.
const (
	messageNotBegun    = "No login is in progress in this browser: begin again"
	messageTooLate     = "The login took longer than 10 minutes: begin again"
	messageOther       = "The response of the identity provider belongs to another login: begin again"
	messageDenied      = "The identity provider refused the login"
	messageUsed        = "The login was finished before or took too long: begin again"
	messageInvalid     = "The identity provider sent an invalid response"
	messageUnavailable = "The identity provider is not available: try again later"
)

// Begin sets the cookie of a login in progress and returns the URL of the provider, to which the caller
// redirects the browser. returnTo is what Finish returns: "" or an [auth.LocalPath]. Call it before the header is
// written.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, returnTo string) (location string, err error) {
	if returnTo != "" && !auth.LocalPath(returnTo) {
		return "", errors.New("oidc: returnTo is not a local path")
	}
	known, err := p.discover(r.Context())
	if err != nil {
		return "", err
	}
	login := &pending{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Expires: p.opts.Now().Add(PendingLifetime), ReturnTo: returnTo,
	}
	sealed, err := p.seal(login)
	if err != nil {
		return "", err
	}
	http.SetCookie(w, p.cookie(sealed, int(PendingLifetime.Seconds())))
	return known.oauth.AuthCodeURL(login.State, gooidc.Nonce(login.Nonce), oauth2.S256ChallengeOption(login.Verifier)), nil
}

// Finish verifies the response of the provider, which is in the query of the request, and returns the user
// and what Begin got as returnTo, with an error too if a login is in progress. It deletes the cookie. Call it
// before the header is written. The error is an [*auth.Error] of the kind LoginRefused or ProviderUnavailable,
// or that of a context.
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (who *auth.External, returnTo string, err error) {
	http.SetCookie(w, p.cookie("", -1))
	login, err := p.open(r)
	if err != nil {
		return nil, "", err
	}
	query := r.URL.Query()
	if !same(query.Get("state"), login.State) {
		return nil, login.ReturnTo, auth.Refused(messageOther, "another state")
	}
	known, err := p.discover(r.Context())
	if err != nil {
		return nil, login.ReturnTo, err
	}
	code, err := p.code(known, query)
	if err != nil {
		return nil, login.ReturnTo, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-r.Context().Done():
		return nil, login.ReturnTo, r.Context().Err()
	}
	ctx, cancel := context.WithTimeout(gooidc.ClientContext(r.Context(), p.client), 2*callTimeout)
	defer cancel()
	who, err = p.user(ctx, known, login, code)
	return who, login.ReturnTo, err
}

// same compares secrets.
func same(a, b string) bool { return a != "" && httpx.NewSecret(a).Is(b) }

// code returns the code in a response of the provider.
func (p *Provider) code(known *remote, query url.Values) (string, error) {
	switch issuer := query.Get("iss"); {
	case issuer == "" && known.issuerSent:
		return "", auth.Refused(messageInvalid, "no issuer, which the provider says that it sends (RFC 9207)")
	case issuer != "" && issuer != p.opts.Issuer:
		return "", auth.Refused(messageOther, "another issuer (RFC 9207)")
	case query.Has("error"):
		return "", auth.Refused(messageDenied, knownCode(query.Get("error")))
	case query.Get("code") == "":
		return "", auth.Refused(messageInvalid, "neither a code nor an error")
	}
	return query.Get("code"), nil
}

// knownCode returns an error code that a standard defines, and "unknown" for others, which may be
// anything.
func knownCode(code string) string {
	if slices.Contains([]string{
		// RFC 6749, sections 4.1.2.1 and 5.2
		"access_denied", "invalid_request", "invalid_scope", "server_error", "temporarily_unavailable",
		"unauthorized_client", "unsupported_response_type", "invalid_client", "invalid_grant", "unsupported_grant_type",
		// OpenID Connect Core, section 3.1.2.6
		"account_selection_required", "consent_required", "interaction_required", "login_required",
	}, code) {
		return code
	}
	return "unknown"
}

// user exchanges a code for tokens and returns the user whom they describe.
func (p *Provider) user(ctx context.Context, known *remote, login *pending, code string) (*auth.External, error) {
	tokens, err := known.oauth.Exchange(ctx, code, oauth2.VerifierOption(login.Verifier))
	if err != nil {
		return nil, p.exchangeError(ctx, err)
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return nil, auth.Refused(messageInvalid, "no ID token")
	}
	id, err := known.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, p.invalid(ctx, err)
	}
	all, err := p.verify(id, login, tokens)
	if err != nil {
		return nil, err
	}
	if p.lacks(all) && known.provider.UserInfoEndpoint() != "" {
		if err := p.addUserInfo(ctx, known, all, id.Subject, tokens); err != nil {
			return nil, err
		}
	}
	return p.external(id, all), nil
}

// exchangeError returns the error of a code that could not be exchanged.
func (p *Provider) exchangeError(ctx context.Context, err error) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return err
	case ok && e.ErrorCode == "invalid_grant":
		return auth.Refused(messageUsed, "the provider refused the code")
	case !ok || e.Response == nil || e.Response.StatusCode >= http.StatusInternalServerError:
		p.warn(ctx, "the identity provider does not respond", err)
	default:
		p.warn(ctx, "the identity provider refused a code: check the client id, its secret and the redirect URL", err)
	}
	return unavailable()
}

// invalid returns the error of an invalid ID token, or of keys that can't be read.
func (p *Provider) invalid(ctx context.Context, err error) error {
	if strings.Contains(err.Error(), "fetching keys") || ctx.Err() != nil { // the library wraps no error
		p.warn(ctx, "the keys of the identity provider can't be read", err)
		return unavailable()
	}
	reason := printable.Truncate(err.Error(), maxLoggedErr)
	p.warn(ctx, "the identity provider sent an invalid ID token", err)
	return auth.Refused(messageInvalid, "invalid ID token: "+reason)
}
