package httpapi

import (
	"errors"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Rights returns the sender of a request and what they may do, for a page that offers it. Changes are decided
// again, in their transaction. The error is that of a request without a valid token.
func (a *API) Rights(r *http.Request) (*auth.Identity, records.Rights, error) {
	c := &call{API: a, schema: a.store.Schema(), store: a.store, r: r}
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
// provider reports whether they also log in through an identity provider.
func (a *API) Users() (users *records.Resource, provider bool) {
	if a.accounts == nil {
		return nil, false
	}
	return records.Of[inventory.User](a.store.Schema()), a.accounts.Provider != nil
}
