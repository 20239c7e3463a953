package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// ownRole returns the scopes of the sender's role, and whether it is one of the program (REFERENCE.md,
// 3.2). Without Options.Accounts the permissions of resources name such roles instead.
func (c *call) ownRole() (scopes []string, own bool) {
	if c.accounts == nil {
		return nil, false
	}
	return c.accounts.Service.RoleScopes(c.identity.Role)
}

// allows applies a permission to the sender: ownerID is the id of the requested user record, or "". The
// scopes of a role of the program decide instead of the permission about all but one's own record.
func (c *call) allows(p auth.Permission, ownerID string, r *records.Resource, does records.Routes) error {
	scopes, own := c.ownRole()
	switch {
	case !own:
		return auth.Authorize(c.identity, p, ownerID)
	case len(scopes) == 0: // a role that the program no longer has
		return auth.Denied()
	case r == nil && (p.Everyone || c.route.scoped()):
		return nil
	case r != nil && included(scopes, r, does):
		return c.allowsTarget()
	}
	return auth.Authorize(c.identity, auth.Permission{Owner: p.Owner}, ownerID)
}

// allowsTarget refuses changes of admins and of what lets them log in, by senders with a role of the
// program.
func (c *call) allowsTarget() error {
	id := strings.ToLower(c.r.PathValue("id"))
	if c.route.method == http.MethodGet || !strings.HasPrefix(c.route.path, "/users/{id}") || c.isSender(id) || !records.ValidID(id) {
		return nil
	}
	u, err := c.accounts.Service.User(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.accounts.Service.CheckRoles(c.request(), u)
}

// scoped reports whether the handler of a route without a resource applies the scopes of the sender, to
// resources that the request names.
func (rt *route) scoped() bool {
	return slices.Contains([]string{"/summary", searchPath, changesPath, streamPath}, rt.path) ||
		rt.feature != nil && (rt.feature.Scoped || len(rt.feature.Lists) > 0)
}

// needsLogin reports whether a route refuses API tokens, whatever their scopes: those that create
// users or are about passwords, sessions, tokens and what else lets a user log in.
func (rt *route) needsLogin() bool {
	return strings.HasPrefix(rt.path, "/users/{id}/") || rt.path == "/users" && rt.method == http.MethodPost
}

// checkTokenRoute refuses API tokens on routes that need a login, and senders with scopes on routes
// that have no resource and do not apply the scopes themselves.
func (c *call) checkTokenRoute() error {
	switch {
	case c.identity.Token != "" && c.route.needsLogin():
		return auth.Denied()
	case c.identity.Scopes != nil && c.route.resource == nil && !c.route.scoped() && c.route.path != "/":
		return auth.Denied()
	}
	return nil
}

// identityIncludes reports whether the scopes of the sender include an operation on a resource.
func (c *call) identityIncludes(r *records.Resource, does records.Routes) bool {
	return c.identity.Scopes == nil || included(c.identity.Scopes, r, does)
}

// included reports whether scopes include an operation on a resource. Changes of users need a scope
// that names them.
func included(scopes []string, r *records.Resource, does records.Routes) bool {
	write := !records.RoutesRead.Has(does)
	if write && isUsers(r) {
		scopes = slices.DeleteFunc(slices.Clone(scopes), func(scope string) bool { return strings.HasPrefix(scope, "*") })
	}
	return auth.InScopes(scopes, r.Name, write)
}

// checkSeen refuses senders with scopes who may read none of the resources of the feed.
func (f *follower) checkSeen() error {
	if _, own := f.ownRole(); f.identity.Scopes == nil && !own {
		return nil
	}
	for _, may := range f.sees {
		if may {
			return nil
		}
	}
	return auth.Denied()
}

// visiblePreview returns the preview without the changes of resources that the sender may neither read
// nor change, such as those that a deletion deletes too.
func (c *call) visiblePreview() *records.Preview {
	if c.identity == nil {
		return &c.preview
	}
	role, own := c.ownRole()
	if c.identity.Scopes == nil && !own {
		return &c.preview
	}
	visible := map[string]bool{} // by kind
	for _, r := range c.schema.Resources() {
		visible[r.Kind()] = (c.identityIncludes(r, records.RouteList) || c.identityIncludes(r, records.RouteChange)) &&
			(!own || included(role, r, records.RouteList) || included(role, r, records.RouteChange))
	}
	p := c.preview
	p.Changes = nil
	for _, e := range c.preview.Changes {
		if visible[e.ResourceType] {
			p.Changes = append(p.Changes, e)
		} else {
			p.Truncated = true
		}
	}
	return &p
}
