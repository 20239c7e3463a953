package auth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// accessRule lists whom each permission includes. Columns: no token, viewer, editor, admin, and
// the same three as owners of the record.
const accessRule = `
Public         yes  yes yes yes  yes yes yes
Everyone       no   yes yes yes  yes yes yes
Admins         no   no  no  yes  no  no  yes
Editors        no   no  yes yes  no  yes yes
Clerks         no   no  no  yes  no  no  yes
Owners         no   no  no  yes  yes yes yes
Nobody         no   no  no  no   no  no  no
`

var permissions = map[string]auth.Permission{
	"Public": auth.Public(), "Everyone": {Everyone: true}, "Admins": {Roles: []auth.Role{auth.Admin}}, "Nobody": {},
	"Clerks":  {Roles: []auth.Role{"clerk"}},
	"Editors": {Roles: []auth.Role{auth.Admin, auth.Editor}}, "Owners": {Roles: []auth.Role{auth.Admin}, Owner: true},
}

func TestAccessRule(t *testing.T) {
	t.Parallel()
	columns := []struct {
		role  auth.Role
		owner bool
	}{{"", false}, {auth.Viewer, false}, {auth.Editor, false}, {auth.Admin, false}, {auth.Viewer, true}, {auth.Editor, true}, {auth.Admin, true}}
	lines := strings.Split(strings.TrimSpace(accessRule), "\n")
	require.Len(t, lines, len(permissions))
	for _, line := range lines {
		cells := strings.Fields(line)
		require.Len(t, cells, 1+len(columns))
		permission, ok := permissions[cells[0]]
		require.True(t, ok, cells[0])
		for i, c := range columns {
			want := cells[i+1] == "yes"
			assert.Equal(t, want, permission.Allows(c.role, c.owner), "%s for %q, owner %v", cells[0], c.role, c.owner)

			var who *auth.Identity
			if c.role != "" {
				who = &auth.Identity{UserID: "me", Role: c.role}
			}
			err := auth.Authorize(who, permission, map[bool]string{true: "me", false: "you"}[c.owner])
			switch {
			case want:
				assert.NoError(t, err)
			case who == nil:
				assert.Equal(t, "Unauthorized: No security token provided", requireKind(t, auth.TokenMissing, err).Message)
			default:
				assert.Equal(t, "Forbidden: You do not have permission to perform this action", requireKind(t, auth.Forbidden, err).Message)
			}
		}
	}
}

// A program may have roles of its own.
func TestOwnRole(t *testing.T) {
	t.Parallel()
	assert.True(t, auth.Permission{Roles: []auth.Role{"technician"}}.Allows("technician", false))
	assert.False(t, auth.Permission{Roles: []auth.Role{auth.Admin}}.Allows("Admin", false))
}

// An identity without a user id is not the owner of records without an owner.
func TestNoOwner(t *testing.T) {
	t.Parallel()
	c := &auth.Identity{Role: auth.Viewer}
	requireKind(t, auth.Forbidden, auth.Authorize(c, auth.Permission{Owner: true}, ""))
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		scopes      []string
		read, write bool // devices
	}{
		{nil, true, true},
		{[]string{}, false, false},
		{[]string{"devices:read"}, true, false},
		{[]string{"metrics:*", "devices:write"}, false, true},
		{[]string{"*:read"}, true, false},
		{[]string{"*:*"}, true, true},
		{[]string{"devices", "device:*", "devices:", ":read", "devices:admin"}, false, false},
	} {
		who := &auth.Identity{Scopes: row.scopes}
		assert.Equal(t, row.read, who.Within("devices", false), "%q", row.scopes)
		assert.Equal(t, row.write, who.Within("devices", true), "%q", row.scopes)
	}
}
