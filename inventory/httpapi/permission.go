package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Who may do what is decided here, from the access that a route or the description of a resource grants to roles
// (accessTo), Options.Permit, the scopes of the sender, the locations that the sender is limited to, and the account of
// the sender in the transaction of a change:
//
//	authorize   before a route is served: who sends the request, and whether they may use the route
//	mayUse      an operation on a resource that the route does not name, such as that of a row of an import
//	permit      the last step of both
//	inventory   the engine of the changes of the request, which decides again in their transaction
//	Rights      the same for pages, which show what may be done

// authorize identifies the sender and applies the permission of the route.
func (c *call) authorize() error {
	if c.route.access.Anonymous {
		return nil
	}
	who, err := c.authenticate()
	if err != nil {
		return c.introduce(err)
	}
	if who == nil {
		return errors.New("the Authenticator returns neither an identity nor an error")
	}
	c.limitTo(who)
	if c.api.accounts != nil && who.MustChangePassword && !c.beforePassword() {
		return auth.ChangePasswordFirst()
	}
	if c.api.accounts != nil {
		c.api.accounts.Used(c.r.Context(), who)
	}
	owner := ""
	if c.route.access.Owner {
		owner = strings.ToLower(c.r.PathValue("id"))
	}
	if err := c.checkTokenRoute(); err != nil {
		return err
	}
	err = c.allows(c.route.access, owner, c.route.resource, c.route.does)
	if c.route.resource == nil {
		return err
	}
	if err = c.permit(c.route.resource, c.route.does, err); err == nil && records.RoutesRead.Has(c.route.does) {
		err = c.checkReader(c.route.resource)
	}
	return err
}

// authenticate returns the sender of the request: the user of an API token in the header, or else
// whom the Authenticator identifies.
func (c *call) authenticate() (*auth.Identity, error) {
	if c.api.accounts != nil {
		if token := auth.HeaderToken(c.r); strings.HasPrefix(token, accounts.TokenPrefix) {
			return c.api.accounts.AuthenticateToken(c.r.Context(), token)
		}
	}
	return c.api.authenticator.Authenticate(c.r)
}

// introduce adds to the error of a request for / without a token where the API is described.
func (c *call) introduce(err error) error {
	if c.route.path != "/" || auth.KindOf(err) != auth.TokenMissing {
		return err
	}
	described := "/openapi.json describes the API"
	if c.api.opts.Docs != nil {
		described = "/docs/ and /openapi.json describe the API"
	}
	return &auth.Error{Kind: auth.TokenMissing, Message: err.Error() + "; " + described}
}

// permit makes the final decision about an operation on a resource, after its description.
func (c *call) permit(r *records.Resource, does records.Routes, denied error) error {
	if c.api.opts.Permit != nil {
		denied = c.api.opts.Permit(c.r, c.identity, r, does, denied)
	}
	if denied == nil && !c.identityIncludes(r, does) {
		return auth.Denied()
	}
	if denied == nil {
		denied = c.checkPlaced(r)
	}
	if denied == nil {
		denied = c.checkReview(r, does)
	}
	return denied
}

// mayUse checks whether the sender may perform an operation on a resource that the route does not name.
func (c *call) mayUse(r *records.Resource, does records.Routes) error {
	return c.permit(r, does, c.allows(ofAll(accessTo(r, does)), "", r, does))
}

// accessTo returns the permission for an operation on records of a resource.
func accessTo(r *records.Resource, does records.Routes) auth.Permission {
	switch does {
	case records.RouteCreate:
		return permission(r.Access.Create.Or(admins))
	case records.RouteReplace, records.RouteChange, records.RouteChangeMany:
		return permission(r.Access.Update.Or(admins))
	case records.RouteDelete, records.RouteDeleteMany:
		return permission(r.Access.Delete.Or(admins))
	}
	return permission(r.Access.Read.Or(records.Permission{Everyone: true}))
}

// admins is the permission of admins.
var admins = records.Permission{Roles: []string{string(auth.Admin)}}

// everyone is the permission of routes that need any token.
var everyone = auth.Permission{Everyone: true}

// ofAll returns the permission for requests that are not for one record, which have no owner.
func ofAll(p auth.Permission) auth.Permission {
	p.Owner = false
	return p
}

// isUsers reports whether a resource is that of users, whose rights differ from those of other records.
func isUsers(r *records.Resource) bool { return r.Is(&inventory.User{}) }

// permission converts the permission of a description.
func permission(p records.Permission) auth.Permission {
	access := auth.Permission{Everyone: p.Everyone, Owner: p.Owner}
	for _, role := range p.Roles {
		access.Roles = append(access.Roles, auth.Role(role))
	}
	return access
}

// beforePassword reports whether a request is possible for a sender who must change their password
// first: it reads their own record or changes their own password.
func (c *call) beforePassword() bool {
	rt := c.route
	possible := rt.feature != nil && rt.feature.BeforePassword || rt.resource != nil && isUsers(rt.resource) && rt.does == records.RouteGet && rt.feature == nil
	return possible && strings.EqualFold(c.r.PathValue("id"), c.identity.UserID)
}

// Rights returns the sender of a request and what they may do, for a page that offers it. Changes are decided
// again, in their transaction. The error is that of a request without a valid token.
func (a *API) Rights(r *http.Request) (*auth.Identity, records.Rights, error) {
	c := &call{api: a, schema: a.store.Schema(), store: a.store, r: r}
	who, err := c.authenticate()
	if err != nil {
		return nil, nil, translate(err)
	}
	if who == nil {
		return nil, nil, errors.New("the Authenticator returns neither an identity nor an error")
	}
	c.limitTo(who)
	rights := records.Rights{}
	for i := range a.routes {
		rt := &a.routes[i]
		if rt.resource == nil || rt.path != "/"+rt.resource.Name && rt.path != "/"+rt.resource.Name+"/{id}" {
			continue
		}
		c.route = rt
		if c.permit(rt.resource, rt.does, c.allows(rt.access, "", rt.resource, rt.does)) == nil {
			rights[rt.resource.Name] |= rt.does
		}
	}
	return who, rights, nil
}

// Schema returns the description of the records as it is now, with custom fields.
func (a *API) Schema() *records.Schema { return a.store.Schema() }

// Users returns the resource of the users who log in at the API, nil if the accounts are the application's own.
func (a *API) Users() *records.Resource {
	if a.accounts == nil {
		return nil
	}
	return records.Of[inventory.User](a.store.Schema())
}

// request returns what the accounts know of the request.
func (c *call) request() *accounts.Request {
	if c.account == nil {
		c.account = &accounts.Request{Network: c.api.opts.Clients.Key(c.r), UserAgent: c.r.UserAgent()}
		by := c.unverified("")
		c.account.Address, c.account.RequestID = by.Address, by.RequestID
	}
	c.account.Identity, c.account.Preview = c.identity, nil
	if c.dryRun {
		c.account.Preview = &c.preview
	}
	return c.account
}

// inventory returns what applies the changes of the request, with the account of the sender checked
// in the transaction; in a dry run it commits none.
func (c *call) inventory() *records.Engine {
	switch {
	case c.within != nil:
		return c.within
	case c.api.accounts != nil && c.route.resource != nil && isUsers(c.route.resource):
		return c.api.accounts.UserChanges(c.request())
	case c.api.accounts != nil:
		return c.api.accounts.Changes(c.request())
	case c.dryRun:
		return c.api.changes.DryRun(&c.preview).LimitTo(c.limit)
	case c.places != nil:
		return c.api.changes.LimitTo(c.limit)
	}
	return c.api.changes
}

// showsAccounts reports whether a resource is that of users or of the audit log.
func (c *call) showsAccounts(r *records.Resource) bool {
	return isUsers(r) || r.Name == records.Of[records.AuditLog](c.schema).Name
}

// checkReader reads the account of the sender again before a read that shows accounts.
func (c *call) checkReader(r *records.Resource) error {
	if c.api.accounts == nil || !c.showsAccounts(r) {
		return nil
	}
	if err := c.api.accounts.Check(c.r.Context(), c.request()); err != nil {
		return err
	}
	c.places = c.account.Places()
	return c.checkPlaced(r)
}

// ownRole returns the scopes of the sender's role, and whether it is one of the program (REFERENCE.md,
// 3.2). Without accounts the permissions of resources name such roles instead.
func (c *call) ownRole() (scopes []string, own bool) {
	if c.api.accounts == nil {
		return nil, false
	}
	return c.api.accounts.RoleScopes(c.identity.Role)
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
	case r == nil && (c.route.scoped() || p.Everyone && (c.route.feature == nil || c.route.limited())):
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
	if c.route.method == http.MethodGet || c.route.resource == nil || !isUsers(c.route.resource) || c.isSender(id) || !records.ValidID(id) {
		return nil
	}
	u, err := c.api.accounts.User(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.api.accounts.CheckRoles(c.request(), u)
}

// scoped reports whether the handler of a route without a resource applies the scopes of the sender, to
// resources that the request names.
func (rt *route) scoped() bool {
	return slices.Contains([]string{"/summary", transactionPath, searchPath, changesPath, streamPath}, rt.path) ||
		rt.feature != nil && rt.feature.Scoped
}

// limited reports whether a route without a resource is one for senders with scopes: its handler applies them, or it
// only shows lists, whose rights are checked before.
func (rt *route) limited() bool {
	return rt.scoped() || rt.feature != nil && len(rt.feature.Lists) > 0 && rt.method == http.MethodGet
}

// needsLogin reports whether a route refuses API tokens, whatever their scopes: those that create
// users or are about passwords, sessions, tokens and what else lets a user log in.
func (rt *route) needsLogin() bool {
	return rt.feature != nil && rt.feature.Login || rt.resource != nil && isUsers(rt.resource) && rt.does == records.RouteCreate
}

// checkTokenRoute refuses API tokens on routes that need a login, and senders with scopes on routes
// that have no resource and do not apply the scopes themselves.
func (c *call) checkTokenRoute() error {
	switch {
	case c.identity.Token != "" && c.route.needsLogin():
		return auth.Denied()
	case c.identity.Scopes != nil && c.route.resource == nil && !c.route.limited() && c.route.path != "/":
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

// visiblePreview returns the preview without the changes and numbers of resources that the sender may neither
// read nor change, such as those that a deletion deletes too.
func (c *call) visiblePreview() (*records.Preview, error) {
	if err := records.MaskChanges(c.r.Context(), c.store, c.preview.Changes...); err != nil || c.identity == nil {
		return &c.preview, err
	}
	role, own := c.ownRole()
	if c.identity.Scopes == nil && !own {
		return &c.preview, nil
	}
	return c.preview.Only(func(r *records.Resource) bool {
		return (c.identityIncludes(r, records.RouteList) || c.identityIncludes(r, records.RouteChange)) &&
			(!own || included(role, r, records.RouteList) || included(role, r, records.RouteChange))
	}), nil
}

// A sender may be limited to locations (REFERENCE.md, 3.7). Everything that a request reads comes from
// call.store, which then has only what belongs there, and its changes go through call.inventory.

// limitTo sets the sender of the request, and what they may see.
func (c *call) limitTo(who *auth.Identity) {
	own := ""
	if c.api.accounts != nil {
		own = who.UserID
	}
	c.identity, c.places = who, records.NewPlaces(who.Locations, own)
	c.store = records.Limited(c.api.store, c.places)
}

// masked returns a record as the sender may see it (records.Mask).
func (c *call) masked(r *records.Resource, rec records.Record) (records.Record, error) {
	recs, err := records.Mask(c.r.Context(), c.store, r, rec)
	if err != nil {
		return nil, err
	}
	return recs[0], nil
}

// limit returns what the changes of the request are limited to.
func (c *call) limit() *records.Places { return c.places }

// checkPlaced refuses limited senders what belongs to no location, except their own user.
func (c *call) checkPlaced(r *records.Resource) error {
	if c.places == nil || r.Placed() || c.api.accounts != nil && isUsers(r) && c.isSender(strings.ToLower(c.r.PathValue("id"))) {
		return nil
	}
	return auth.Denied()
}
