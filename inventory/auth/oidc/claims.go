package oidc

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// claims holds the statements of a provider about a user.
type claims map[string]json.RawMessage

// text returns a claim that is a string, or "".
func (c claims) text(name string) string {
	var s string
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// list returns a claim that is a string or an array of strings.
func (c claims) list(name string) []string {
	var values []string
	doc := c.find(name)
	if json.Unmarshal(doc, &values) == nil {
		return values
	}
	var one string
	if json.Unmarshal(doc, &one) == nil {
		return []string{one}
	}
	return nil
}

// find returns a claim by its name, or a member of an object by a name with dots. Names of claims may
// contain dots too.
func (c claims) find(name string) json.RawMessage {
	if doc, ok := c[name]; ok {
		return doc
	}
	for i := range len(name) {
		var members claims
		if name[i] == '.' && json.Unmarshal(c[name[:i]], &members) == nil {
			if doc := members.find(name[i+1:]); doc != nil {
				return doc
			}
		}
	}
	return nil
}

// verify checks what the library does not (OpenID Connect Core, section 3.1.3.7), and returns the claims
// of an ID token.
func (p *Provider) verify(id *gooidc.IDToken, login *pending, tokens *oauth2.Token) (claims, error) {
	all := claims{}
	if err := id.Claims(&all); err != nil {
		return nil, auth.Refused(messageInvalid, "malformed claims")
	}
	party := all.text("azp")
	switch {
	case !same(id.Nonce, login.Nonce):
		return nil, auth.Refused(messageOther, "ID token with another nonce")
	case len(id.Audience) > 1 && party == "" || all["azp"] != nil && party != p.opts.ClientID:
		return nil, auth.Refused(messageInvalid, "ID token for another client (azp)")
	case id.IssuedAt.After(p.opts.Now().Add(leeway)):
		return nil, auth.Refused(messageInvalid, "ID token of the future (iat): compare the clocks")
	case !validSubject(id.Subject):
		return nil, auth.Refused(messageInvalid, "ID token without a subject of 1 to 255 ASCII characters")
	case id.AccessTokenHash != "" && id.VerifyAccessToken(tokens.AccessToken) != nil:
		return nil, auth.Refused(messageInvalid, "access token of another ID token (at_hash)")
	}
	return all, nil
}

func validSubject(s string) bool {
	return s != "" && len(s) <= maxClaim && s == strings.TrimSpace(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// lacks reports whether claims that are needed are not in the ID token.
func (p *Provider) lacks(all claims) bool {
	if p.opts.RoleClaim != "" && all.find(p.opts.RoleClaim) == nil {
		return true
	}
	return all["email"] == nil || all["preferred_username"] == nil
}

// addUserInfo adds the claims of the userinfo endpoint to those of the ID token, which count if both have
// one.
func (p *Provider) addUserInfo(ctx context.Context, known *remote, all claims, subject string, tokens *oauth2.Token) error {
	info, err := known.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		p.warn(ctx, "the identity provider does not send what it knows of a user", err)
		return unavailable()
	}
	more := claims{}
	if info.Subject != subject || info.Claims(&more) != nil {
		return auth.Refused(messageInvalid, "userinfo of another user")
	}
	if roles := more.find(p.opts.RoleClaim); roles != nil && all.find(p.opts.RoleClaim) == nil {
		all[p.opts.RoleClaim] = roles
	}
	own := maps.Clone(all)
	maps.Copy(all, more)
	maps.Copy(all, own)
	return nil
}

// external returns the user whom the claims describe.
func (p *Provider) external(id *gooidc.IDToken, all claims) *auth.External {
	who := &auth.External{
		Method: "oidc", Issuer: p.opts.Issuer, Subject: id.Subject, Email: all.text("email"),
		RoleManaged: p.opts.RoleClaim != "", Role: p.opts.DefaultRole,
	}
	if verified, given := all["email_verified"]; given && string(verified) == "true" {
		who.EmailVerified = who.Email != ""
	} else if given {
		who.Email = ""
	}
	if who.Username = all.text("preferred_username"); who.Username == "" {
		who.Username = who.Email
	}
	groups := all.list(p.opts.RoleClaim)
	for _, row := range p.opts.Roles {
		if slices.Contains(groups, row.Value) {
			who.Role = row.Role
			break
		}
	}
	return who
}
