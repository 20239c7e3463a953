package auth

import (
	"fmt"
	"strings"
)

// Role is what a user may do; specification, Authentication 6. The zero value is
// nobody: it may do what is public.
type Role string

// The roles, as they are written in records and tokens.
const (
	Admin  Role = "admin"  // everything
	Editor Role = "editor" // reads, and changes links
	Viewer Role = "viewer" // reads
)

// Roles returns all roles, the mightiest first.
func Roles() []Role { return []Role{Admin, Editor, Viewer} }

// ParseRole returns the role of that name in any case, as the reference service
// compares them, or an error that says which roles there are.
func ParseRole(name string) (Role, error) {
	if r := Role(strings.ToLower(name)); r.Valid() {
		return r, nil
	}
	return "", fmt.Errorf("auth: role %.40q: must be one of admin, editor, viewer", name)
}

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return r.rank() > 0 }

// rank orders the roles: each may do what those of lower rank may.
func (r Role) rank() int {
	switch r {
	case Admin:
		return 3
	case Editor:
		return 2
	case Viewer:
		return 1
	}
	return 0
}
