package auth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// accessRule lists who may perform each action (REFERENCE.md, 3.2). Columns: no token, viewer,
// editor, admin, and the same three as owners of the record.
const accessRule = `
Public         yes  yes yes yes  yes yes yes
Read           no   yes yes yes  yes yes yes
Write          no   no  no  yes  no  no  yes
WriteLinks     no   no  yes yes  no  yes yes
ReadAudit      no   no  no  yes  no  no  yes
ManageUsers    no   no  no  yes  no  no  yes
ReadUser       no   no  no  yes  yes yes yes
ChangeUser     no   no  no  yes  yes yes yes
`

var actions = map[string]auth.Action{
	"Public": auth.Public, "Read": auth.Read, "Write": auth.Write, "WriteLinks": auth.WriteLinks, "ReadAudit": auth.ReadAudit,
	"ManageUsers": auth.ManageUsers, "ReadUser": auth.ReadUser, "ChangeUser": auth.ChangeUser,
}

func TestAccessRule(t *testing.T) {
	t.Parallel()
	columns := []struct {
		role  auth.Role
		owner bool
	}{{"", false}, {auth.Viewer, false}, {auth.Editor, false}, {auth.Admin, false}, {auth.Viewer, true}, {auth.Editor, true}, {auth.Admin, true}}
	lines := strings.Split(strings.TrimSpace(accessRule), "\n")
	require.Len(t, lines, len(actions))
	for _, line := range lines {
		cells := strings.Fields(line)
		require.Len(t, cells, 1+len(columns))
		action, ok := actions[cells[0]]
		require.True(t, ok, cells[0])
		for i, c := range columns {
			want := cells[i+1] == "yes"
			assert.Equal(t, want, auth.Allowed(c.role, action, c.owner), "%s for %q, owner %v", cells[0], c.role, c.owner)

			var claims *auth.Claims
			if c.role != "" {
				claims = &auth.Claims{Identity: auth.Identity{UserID: "me", Role: c.role}}
			}
			err := auth.Authorize(claims, action, map[bool]string{true: "me", false: "you"}[c.owner])
			switch {
			case want:
				assert.NoError(t, err)
			case claims == nil:
				assert.Equal(t, "Unauthorized: No security token provided", requireKind(t, auth.TokenMissing, err).Message)
			default:
				assert.Equal(t, "Forbidden: You do not have permission to perform this action", requireKind(t, auth.Forbidden, err).Message)
			}
		}
	}
}

// Invalid roles have the permissions of a caller without a token; invalid actions are forbidden.
func TestInvalidRolesAndActions(t *testing.T) {
	t.Parallel()
	for _, role := range []auth.Role{"", "root", "Admin", "admin ", "user"} {
		for name, action := range actions {
			assert.Equal(t, action == auth.Public, auth.Allowed(role, action, true), "%s for %q", name, role)
		}
	}
	for _, action := range []auth.Action{0, auth.ChangeUser + 1, 255} {
		assert.False(t, auth.Allowed(auth.Admin, action, true))
		requireKind(t, auth.TokenMissing, auth.Authorize(nil, action, ""))
		requireKind(t, auth.Forbidden, auth.Authorize(&auth.Claims{Identity: user()}, action, ""))
	}
}

// A token without a user id is not the owner of records without an owner.
func TestNoOwner(t *testing.T) {
	t.Parallel()
	c := &auth.Claims{Identity: auth.Identity{Role: auth.Viewer}}
	requireKind(t, auth.Forbidden, auth.Authorize(c, auth.ChangeUser, ""))
}
