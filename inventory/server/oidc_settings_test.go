package server_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// provided are settings with an identity provider.
func provided(more map[string]string) map[string]string {
	all := map[string]string{
		"OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_ID": "inventory", "OIDC_REDIRECT_URL": "https://inventory.example.com/users/oidc/callback",
	}
	maps.Copy(all, more)
	return all
}

func TestOIDCSettings(t *testing.T) {
	t.Parallel()
	s, err := server.Parse(provided(map[string]string{
		"OIDC_CLIENT_SECRET": "hunter2", "OIDC_SCOPES": "groups, email", "OIDC_ROLE_CLAIM": "groups", "OIDC_DEFAULT_ROLE": "Viewer",
		"OIDC_ROLE_MAP": "cn=Net, Admins,ou=x=Admin; noc=editor", "OIDC_CREATE_USERS": "true", "OIDC_LINK_BY_EMAIL": "true",
	}), nil)
	require.NoError(t, err)
	require.Equal(t, server.OIDC{
		Issuer: "https://id.example.com", ClientID: "inventory", ClientSecret: "hunter2", RedirectURL: "https://inventory.example.com/users/oidc/callback",
		Scopes: []string{"groups", "email"}, RoleClaim: "groups", DefaultRole: "viewer", CreateUsers: true, LinkByEmail: true,
		Roles: []oidc.RoleOf{{Value: "cn=Net, Admins,ou=x", Role: auth.Admin}, {Value: "noc", Role: auth.Editor}},
	}, s.OIDC)
	for want, environ := range map[string]map[string]string{
		"OIDC_CLIENT_ID: is required":          {"OIDC_ISSUER": "https://id.example.com"},
		"OIDC_REDIRECT_URL: is required":       {"OIDC_ISSUER": "https://id.example.com"},
		"OIDC_CLIENT_ID: provider":             {"OIDC_CLIENT_ID": "inventory"},
		"is not an https URL":                  provided(map[string]string{"OIDC_ISSUER": "http://id.example.com"}),
		"does not end in /users/oidc/callback": provided(map[string]string{"OIDC_REDIRECT_URL": "https://inventory.example.com/"}),
		"OIDC_CLIENT_SECRET_FILE: together":    provided(map[string]string{"OIDC_CLIENT_SECRET": "hunter2", "OIDC_CLIENT_SECRET_FILE": "x"}),
		"OIDC_ROLE_CLAIM: needs the other":     provided(map[string]string{"OIDC_ROLE_CLAIM": "groups"}),
		"OIDC_ROLE_MAP: needs the other":       provided(map[string]string{"OIDC_ROLE_MAP": "noc=editor"}),
		`OIDC_ROLE_MAP: "root" admin`:          provided(map[string]string{"OIDC_ROLE_MAP": "noc=root"}),
		`OIDC_ROLE_MAP: "noc" value`:           provided(map[string]string{"OIDC_ROLE_MAP": "noc"}),
		"OIDC_DEFAULT_ROLE: unknown value":     provided(map[string]string{"OIDC_DEFAULT_ROLE": "root"}),
		"OIDC_CREATE_USERS: role":              provided(map[string]string{"OIDC_CREATE_USERS": "true"}),
		`OIDC_SCOPES: "a`:                      provided(map[string]string{"OIDC_SCOPES": "a b"}),
	} {
		_, err := server.Parse(environ, nil)
		errtest.Want(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
