package httpapi

import (
	"errors"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Rights lists the permissions of the sender of a request, for a page that offers it. Changes are decided again,
// in their transaction.
type Rights struct {
	Identity *auth.Identity
	may      map[string]records.Routes // by resource
}

// May reports whether the sender may perform an operation on records of a resource. On single records it
// may still be refused, and one's own user may be read and changed without it.
func (r *Rights) May(resource string, operation records.Routes) bool {
	return r.may[resource]&operation != 0
}

// Rights returns what the sender of a request may do. The error is that of a request without a valid token.
func (a *API) Rights(r *http.Request) (*Rights, error) {
	c := &call{API: a, schema: a.store.Schema(), store: a.store, r: r}
	who, err := c.authenticate()
	if err != nil {
		return nil, translate(err)
	}
	if who == nil {
		return nil, errors.New("the Authenticator returns neither an identity nor an error")
	}
	c.limitTo(who)
	rights := &Rights{who, map[string]records.Routes{}}
	for i := range a.routes {
		rt := &a.routes[i]
		if rt.resource == nil || rt.path != "/"+rt.resource.Name && rt.path != "/"+rt.resource.Name+"/{id}" {
			continue
		}
		c.route = rt
		if c.permit(rt.resource, rt.does, c.allows(rt.access, "", rt.resource, rt.does)) == nil {
			rights.may[rt.resource.Name] |= rt.does
		}
	}
	return rights, nil
}

// Schema returns the description of the records as it is now, with custom fields.
func (a *API) Schema() *records.Schema { return a.store.Schema() }

// HasAccounts reports whether the API has the routes under /users, and provider whether users also log in
// through an identity provider.
func (a *API) HasAccounts() (has, provider bool) {
	return a.accounts != nil, a.accounts != nil && a.accounts.Provider != nil
}
