package httpapi

import (
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// Routes returns the patterns of all routes.
func Routes(a *API) []string {
	var all []string
	for i := range a.routes {
		all = append(all, a.routes[i].method+" "+a.routes[i].path)
	}
	return all
}

// Operations returns the operations of the document.
func Operations(a *API) []openapi.Operation {
	all, err := a.operations()
	if err != nil {
		panic(err)
	}
	return all
}
