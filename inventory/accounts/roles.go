package accounts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// checkRoles checks Options.Roles.
func (s *Service) checkRoles() error {
	f, _ := s.users().Field("role")
	for role, scopes := range s.opts.Roles {
		switch err := auth.CheckScopes(scopes, s.resourceNames()); {
		case role.Valid():
			return fmt.Errorf("accounts: Options.Roles: %s has no scopes: define a role with another name", role)
		case !slices.Contains(f.Enum, string(role)):
			return fmt.Errorf("accounts: Options.Roles: %s is no role of users: add inventory.Roles(%q) to the schema", role, role)
		case err != nil:
			return fmt.Errorf("accounts: Options.Roles: %s %w", role, err)
		}
	}
	return nil
}

// hasRole reports whether the role of a user exists.
func (s *Service) hasRole(u *inventory.User) bool {
	f, _ := s.users().Field("role")
	return slices.Contains(f.Enum, string(u.Role))
}

// RoleScopes returns the scopes of a role, and whether the scopes decide what the role may do, as they do
// for all but the roles of package auth. A role that is not in Options.Roles has none.
func (s *Service) RoleScopes(role auth.Role) (scopes []string, decide bool) {
	return s.opts.Roles[role], !role.Valid()
}

// administers reports whether a role of the program may change users.
func (s *Service) administers(role auth.Role) bool {
	return slices.ContainsFunc(s.opts.Roles[role], func(scope string) bool {
		of, verb, _ := strings.Cut(scope, ":")
		return of == s.users().Name && verb != "read"
	})
}

// CheckRoles refuses senders with a role of the program who change or create admins: users are states of
// one before and after a change. They could give themselves all rights otherwise.
func (s *Service) CheckRoles(q *Request, users ...*inventory.User) error {
	if q.Identity == nil || q.Identity.Role.Valid() {
		return nil
	}
	for _, u := range users {
		if inventory.Role(strings.ToLower(string(u.Role))) == inventory.Admin && !q.isSender(u.ID) {
			return denied("role", "is or becomes admin: only admins change and create admins")
		}
	}
	return nil
}
