package auth

import (
	"fmt"
	"slices"
	"strings"
)

// MaxScopes is the maximum number of scopes of an API token.
const MaxScopes = 50

// CheckScopes returns an error unless each scope is one of these resources, or *, with ":" and read,
// write or *, and none occurs twice.
func CheckScopes(scopes, resources []string) error {
	if len(scopes) == 0 || len(scopes) > MaxScopes {
		return fmt.Errorf("must have 1 to %d scopes, such as devices:read", MaxScopes)
	}
	for i, scope := range scopes {
		resource, verb, _ := strings.Cut(scope, ":")
		switch {
		case !slices.Contains([]string{"read", "write", "*"}, verb):
			return fmt.Errorf("has the scope %.50q: use a resource, a colon, and read, write or *, such as devices:read", scope)
		case resource != "*" && !slices.Contains(resources, resource):
			return fmt.Errorf("has the unknown resource %.50q: use * or one of %s", resource, strings.Join(resources, ", "))
		case slices.Contains(scopes[:i], scope):
			return fmt.Errorf("has the scope %s twice", scope)
		}
	}
	return nil
}

// InScopes reports whether scopes include reading, or else changing, a resource.
func InScopes(scopes []string, resource string, write bool) bool {
	want := "read"
	if write {
		want = "write"
	}
	return slices.ContainsFunc(scopes, func(scope string) bool {
		of, verb, ok := strings.Cut(scope, ":")
		return ok && (of == resource || of == "*") && (verb == want || verb == "*")
	})
}

// Within reports whether the scopes of an identity include reading, or else changing, a resource.
func (i *Identity) Within(resource string, write bool) bool {
	return i.Scopes == nil || InScopes(i.Scopes, resource, write)
}
