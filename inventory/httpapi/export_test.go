package httpapi

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// Routes returns the patterns of all routes, except those of other APIs.
func Routes(a *API) []string {
	var all []string
	for i := range a.routes {
		if rt := &a.routes[i]; rt.feature == nil || !rt.feature.Foreign {
			all = append(all, rt.method+" "+rt.path)
		}
	}
	return all
}

// Foreign returns the operations of other APIs that read.
func Foreign(a *API) (all []openapi.Operation) {
	for _, rt := range a.routes {
		if rt.feature != nil && rt.feature.Foreign && rt.method == http.MethodGet && !rt.access.Anonymous && !strings.HasSuffix(rt.path, "{$}") {
			rt.doc.Method, rt.doc.Path, rt.doc.Tag = rt.method, rt.path, "foreign"
			all = append(all, rt.doc)
		}
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
