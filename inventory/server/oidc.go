package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
)

// OIDC are the settings of logins through an identity provider.
type OIDC struct {
	Issuer           string // "" for no identity provider
	ClientID         string
	ClientSecret     string // "" for ClientSecretFile, or a public client
	ClientSecretFile string // "" for none
	RedirectURL      string
	Scopes           []string
	RoleClaim        string // "" if the provider does not decide roles
	Roles            []oidc.RoleOf
	DefaultRole      string // "" for none
	CreateUsers      bool   // at their first login
	LinkByEmail      bool   // existing users, at their first login
}

// callbackPath is the path of the redirect URL.
const callbackPath = "/users/oidc/callback"

func oidcTable(s *OIDC) []settings.Setting {
	return []settings.Setting{
		{Name: "OIDC_ISSUER", Doc: "URL of the OpenID Connect provider for logins at /users/oidc/login, exactly as in its configuration, such as https://id.example.com/realms/main; unset: no such logins", Value: settings.Text(&s.Issuer, checkIssuer)},
		{Name: "OIDC_CLIENT_ID", Doc: "id of this server at the provider", Value: settings.Text(&s.ClientID)},
		{Name: "OIDC_CLIENT_SECRET", Secret: true, Doc: "secret of this server at the provider; unset: that of OIDC_CLIENT_SECRET_FILE, or none", Value: settings.Hidden(&s.ClientSecret)},
		{Name: "OIDC_CLIENT_SECRET_FILE", Doc: "file with that secret, read at the start", Value: settings.Text(&s.ClientSecretFile)},
		{Name: "OIDC_REDIRECT_URL", Doc: "URL of this server that the provider redirects to, as registered there, such as https://inventory.example.com" + callbackPath, Value: settings.Text(&s.RedirectURL, checkRedirectURL)},
		{Name: "OIDC_SCOPES", Default: "profile,email", Doc: "comma-separated scopes to request besides openid", Value: settings.List(&s.Scopes, checkScope)},
		{Name: "OIDC_ROLE_CLAIM", Doc: "claim with the groups or roles of a user, such as groups or realm_access.roles; it decides the role at each login; unset: the role is changed here", Value: settings.Text(&s.RoleClaim)},
		{Name: "OIDC_ROLE_MAP", Doc: "roles of the values of OIDC_ROLE_CLAIM, the first that a user has counts, such as net-admins=admin,noc=editor; separate them by semicolons if a value has a comma", Value: settings.Func(s.parseRoles)},
		{Name: "OIDC_DEFAULT_ROLE", Doc: "admin, editor or viewer: the role of new users, or of users without a value of OIDC_ROLE_MAP; unset: they are refused", Value: settings.OneOf(&s.DefaultRole, "admin", "editor", "viewer")},
		{Name: "OIDC_CREATE_USERS", Default: "false", Doc: "create users at their first login", Value: settings.Bool(&s.CreateUsers)},
		{Name: "OIDC_LINK_BY_EMAIL", Default: "false", Doc: "let a first login be that of the existing user with the same email address, if the provider has verified it; who controls the provider then controls these users", Value: settings.Bool(&s.LinkByEmail)},
	}
}

func checkIssuer(value string) error {
	if len(value) > 255 {
		return errors.New("is longer than 255 characters")
	}
	return oidc.CheckURL(value)
}

func checkRedirectURL(value string) error {
	if err := oidc.CheckURL(value); err != nil {
		return err
	}
	if !strings.HasSuffix(value, callbackPath) {
		return errors.New("does not end in " + callbackPath)
	}
	return nil
}

var checkScope = settings.Match(`^[\x21\x23-\x5b\x5d-\x7e]+$`, "is not a scope: use names such as groups") // RFC 6749, section 3.3

// parseRoles reads value=role pairs. A value may contain "=", as the names of LDAP do.
func (s *OIDC) parseRoles(text string) error {
	separator := ","
	if strings.Contains(text, ";") {
		separator = ";"
	}
	var roles []oidc.RoleOf
	for pair := range strings.SplitSeq(text, separator) {
		i := strings.LastIndexByte(pair, '=')
		if i < 0 || strings.TrimSpace(pair[:i]) == "" {
			return fmt.Errorf("%s is not a value and its role: use one such as net-admins=admin", settings.Quote(pair))
		}
		role := auth.Role(strings.ToLower(strings.TrimSpace(pair[i+1:])))
		if !role.Valid() {
			return fmt.Errorf("unknown role %s: use admin, editor or viewer", settings.Quote(pair[i+1:]))
		}
		roles = append(roles, oidc.RoleOf{Value: strings.TrimSpace(pair[:i]), Role: role})
	}
	s.Roles = roles
	return nil
}

// checkOIDC checks settings that depend on each other.
func checkOIDC(s *OIDC, r *settings.Reading) {
	for _, name := range []string{"OIDC_CLIENT_ID", "OIDC_REDIRECT_URL"} {
		r.Require(!r.IsSet("OIDC_ISSUER") || r.IsSet(name), name, "is required: $OIDC_ISSUER is set")
	}
	for _, row := range oidcTable(&OIDC{}) {
		r.Require(r.IsSet("OIDC_ISSUER") || row.Default != "" || !r.IsSet(row.Name), row.Name, "needs an identity provider: set $OIDC_ISSUER, or unset this")
	}
	r.Require(s.ClientSecret == "" || s.ClientSecretFile == "", "OIDC_CLIENT_SECRET_FILE", "can't be used together with $OIDC_CLIENT_SECRET: unset one of them")
	r.Require((s.RoleClaim == "") == (s.Roles == nil), r.FirstSet("OIDC_ROLE_CLAIM", "OIDC_ROLE_MAP"), "needs the other: set both $OIDC_ROLE_CLAIM and $OIDC_ROLE_MAP, or neither")
	r.Require(!s.CreateUsers || s.DefaultRole != "" || s.RoleClaim != "", "OIDC_CREATE_USERS", "needs a role for new users: set $OIDC_DEFAULT_ROLE, or $OIDC_ROLE_CLAIM and $OIDC_ROLE_MAP")
}

// openProvider makes the identity provider of the settings, if there is one, that of the accounts. It does
// not connect to it.
func (s *Server) openProvider(accounts *logins.Options, tokens *jwt.Tokens) error {
	set := &s.settings.OIDC
	if set.Issuer == "" {
		return nil
	}
	secret := set.ClientSecret
	if set.ClientSecretFile != "" {
		var err error
		if secret, err = readSecret(set.ClientSecretFile); err != nil {
			return fmt.Errorf("OIDC_CLIENT_SECRET_FILE: %w", err)
		}
	}
	scopes := set.Scopes
	if scopes == nil {
		scopes = []string{} // openid only
	}
	var err error
	s.provider, err = oidc.New(&oidc.Options{
		Issuer: set.Issuer, ClientID: set.ClientID, ClientSecret: secret, RedirectURL: set.RedirectURL, Scopes: scopes,
		RoleClaim: set.RoleClaim, Roles: set.Roles, DefaultRole: auth.Role(set.DefaultRole), Log: s.log,
		Keys: func() [][]byte { return tokens.Derive(oidc.KeyPurpose) },
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.provider.Close)
	accounts.Provider = s.provider
	return nil
}

// readSecret reads a secret of one line from a file.
func readSecret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	secret := strings.TrimSpace(string(text))
	if err == nil && (secret == "" || strings.ContainsAny(secret, "\n\x00")) {
		err = fmt.Errorf("%s: must have one line, with the secret", name)
	}
	return secret, err
}

// checkProvider logs whether the identity provider responds, and asks again every minute until it does, and then every
// hour, as logins do.
func (s *Server) checkProvider(ctx context.Context) error {
	for wait := time.Hour; s.provider != nil && ctx.Err() == nil; wait = time.Hour {
		if s.provider.Check(ctx) != nil { // which is logged
			wait = time.Minute
		}
		_ = backoff.Sleep(ctx, wait)
	}
	return nil
}
