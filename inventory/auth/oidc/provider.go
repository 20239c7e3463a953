package oidc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

const (
	callTimeout  = 10 * time.Second // of a request to the provider
	maxResponse  = 1 << 20          // bytes
	maxCalls     = 16               // logins that wait for the provider
	configured   = time.Hour        // how long the configuration of the provider is used
	retryAfter   = 2 * time.Second  // after it could not be read, without an earlier one
	renewAfter   = time.Minute      // with an earlier one
	leeway       = time.Minute      // the accepted clock difference
	maxClaim     = 255              // characters of issuer and subject
	maxLoggedErr = 300
)

// Options configure a [Provider].
type Options struct {
	// Issuer is the URL of the provider, exactly as in its configuration: https, or http on this
	// machine. At most 255 bytes. Required.
	Issuer string
	// ClientID is that of the program at the provider. Required.
	ClientID string
	// ClientSecret authenticates the program. Default: none, for a public client.
	ClientSecret string
	// RedirectURL is the address that the provider sends browsers back to, as registered there: https, or http on
	// this machine. Required.
	RedirectURL string
	// Keys returns the keys, of 32 bytes, that encrypt logins in progress: the first encrypts, all
	// decrypt. It is called for each login, concurrently. Required.
	Keys func() [][]byte
	// Scopes are requested besides openid. Default: profile and email.
	Scopes []string
	// RoleClaim is the claim with the groups of the user: a string or an array of strings. The name of
	// a member of an object is separated by a dot, as in realm_access.roles. Default: the provider
	// does not decide roles, and new users get DefaultRole.
	RoleClaim string
	// Roles are the roles of values of RoleClaim. The first that the user has counts.
	Roles []RoleOf
	// DefaultRole is the role of users without one of Roles. Default: none.
	DefaultRole auth.Role
	// Transport sends the requests to the provider. Default: a http.Transport of its own.
	Transport http.RoundTripper
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log receives failures of the provider. Default: slog.Default().
	Log *slog.Logger
}

// RoleOf is the role of a value of Options.RoleClaim.
type RoleOf struct {
	Value string
	Role  auth.Role
}

// Provider is an OpenID Connect provider. Create it with [New] and close it. It is safe for concurrent
// use.
type Provider struct {
	opts     Options
	redirect *url.URL
	client   *http.Client
	slots    chan struct{} // of logins that wait for the provider
	turn     chan struct{} // holds what follows
	remote   *remote       // nil until the provider has responded
	failed   bool          // the last attempt to read its configuration
	up       atomic.Bool   // an attempt was made, and did not fail
	tried    time.Time
}

// remote is the configuration of a provider.
type remote struct {
	provider *gooidc.Provider
	oauth    oauth2.Config
	verifier *gooidc.IDTokenVerifier
	// issuerSent says that redirects of the provider have its issuer (RFC 9207).
	issuerSent bool
}

// New returns a provider, and does not connect to it. The error names the invalid option.
func New(opts *Options) (*Provider, error) {
	p := &Provider{opts: *cmp.Or(opts, &Options{}), slots: make(chan struct{}, maxCalls), turn: make(chan struct{}, 1)}
	o := &p.opts
	if o.ClientID == "" || o.Keys == nil {
		return nil, errors.New("oidc: ClientID and Keys are required")
	}
	if err := CheckURL(o.Issuer); err != nil || len(o.Issuer) > maxClaim {
		return nil, fmt.Errorf("oidc: invalid issuer: %w", cmp.Or(err, errors.New("it is longer than 255 bytes")))
	}
	if err := CheckURL(o.RedirectURL); err != nil {
		return nil, fmt.Errorf("oidc: invalid redirect URL: %w", err)
	}
	if p.redirect, _ = url.Parse(o.RedirectURL); p.redirect.Path == "" {
		return nil, errors.New("oidc: the redirect URL has no path")
	}
	if o.Scopes == nil {
		o.Scopes = []string{gooidc.ScopeProfile, gooidc.ScopeEmail}
	}
	o.Scopes = slices.Concat([]string{gooidc.ScopeOpenID}, o.Scopes)
	slices.Sort(o.Scopes)
	o.Scopes = slices.Compact(o.Scopes)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxConnsPerHost, transport.MaxResponseHeaderBytes = maxCalls, 64<<10
		o.Transport = transport
	}
	p.client = &http.Client{
		Transport: bounded{o.Transport}, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the provider redirects to another address: set the address that it redirects to as the issuer")
		},
	}
	return p, nil
}

// Close closes idle connections.
func (p *Provider) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// CheckURL accepts the URL of a provider or of a callback: https, or http on this machine, without a user,
// a query or a fragment.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return errors.New("is not a URL such as https://id.example.org, without a user, a query or a fragment")
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && isLocal(u.Hostname()):
	default:
		return errors.New("is not an https URL: plain http is for this machine only, such as http://localhost:8080")
	}
	return nil
}

func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// bounded limits the responses of a transport.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{response.Body, maxResponse}
	}
	return response, err
}

// CloseIdleConnections is called by the method of http.Client.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to[:min(len(to), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the response of the provider is longer than %d bytes", maxResponse)
	}
	return n, err
}

// Check reads the configuration of the provider, if it is not known, and logs whether that succeeded.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.discoverIn(ctx, ctx)
	if err == nil {
		p.opts.Log.InfoContext(ctx, "the identity provider responds", "issuer", p.opts.Issuer)
	}
	return err
}

// Up reports whether the provider responded when its configuration was read last: at most an hour ago if it did, and a
// minute if it did not, while there are logins or Check is called.
func (p *Provider) Up() bool { return p.up.Load() }

// discover returns the configuration of the provider. It is read at the first call and once an hour; while
// that fails, the earlier one is used, and it is tried again after a minute, or after two seconds without one.
func (p *Provider) discover(ctx context.Context) (*remote, error) {
	return p.discoverIn(ctx, context.WithoutCancel(ctx)) // others wait for the same
}

// discoverIn is discover with a context of its own for the requests to the provider.
func (p *Provider) discoverIn(ctx, requests context.Context) (*remote, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pause := configured
	switch {
	case p.failed && p.remote == nil:
		pause = retryAfter
	case p.failed:
		pause = renewAfter
	}
	if now := p.opts.Now(); p.tried.IsZero() || now.Sub(p.tried) >= pause || now.Before(p.tried) {
		known, err := p.read(requests)
		if requests.Err() != nil {
			return nil, requests.Err()
		}
		p.tried, p.failed = now, err != nil
		p.up.Store(err == nil)
		if err == nil {
			p.remote = known
		} else {
			p.warn(ctx, "the identity provider can't be used: its configuration can't be read; logins through it fail until it can", err)
		}
	}
	if p.remote == nil {
		return nil, unavailable()
	}
	return p.remote, nil
}

// read reads the configuration of the provider.
func (p *Provider) read(ctx context.Context) (*remote, error) {
	provider, err := gooidc.NewProvider(gooidc.ClientContext(ctx, p.client), p.opts.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		JWKS       string   `json:"jwks_uri"`
		Methods    []string `json:"token_endpoint_auth_methods_supported"`
		Challenges []string `json:"code_challenge_methods_supported"`
		IssuerSent bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	for name, text := range map[string]string{
		"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": more.JWKS,
		"userinfo_endpoint": cmp.Or(provider.UserInfoEndpoint(), p.opts.Issuer),
	} {
		u, err := url.Parse(text)
		if err == nil {
			u.RawQuery = "" // allowed in an endpoint (RFC 6749, section 3.1)
			err = CheckURL(u.String())
		}
		if err != nil {
			return nil, fmt.Errorf("%s in the configuration of the provider %w", name, err)
		}
	}
	if more.Challenges != nil && !slices.Contains(more.Challenges, "S256") {
		return nil, errors.New("the provider does not support PKCE with S256")
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of token_endpoint_auth_methods_supported
	if p.opts.ClientSecret == "" || more.Methods != nil && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &remote{
		provider: provider, issuerSent: more.IssuerSent,
		oauth: oauth2.Config{
			ClientID: p.opts.ClientID, ClientSecret: p.opts.ClientSecret, Endpoint: endpoint,
			RedirectURL: p.opts.RedirectURL, Scopes: p.opts.Scopes,
		},
		verifier: provider.Verifier(&gooidc.Config{
			ClientID: p.opts.ClientID, Now: func() time.Time { return p.opts.Now().Add(-leeway) },
		}),
	}, nil
}

func unavailable() error {
	return &auth.Error{Kind: auth.ProviderUnavailable, Message: messageUnavailable}
}

// warn logs a failure of the provider.
func (p *Provider) warn(ctx context.Context, message string, err error) {
	p.opts.Log.WarnContext(ctx, message, "issuer", p.opts.Issuer, "error", describe(err))
}

// describe returns an error of the provider for logs: not what it sent in response to a code, which may
// contain tokens.
func describe(err error) string {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := 0
		if e.Response != nil {
			status = e.Response.StatusCode
		}
		return fmt.Sprintf("status %d of the token endpoint, error %q", status, knownCode(e.ErrorCode))
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Error()
	}
	return printable.Truncate(strings.ToValidUTF8(err.Error(), "?"), maxLoggedErr)
}
