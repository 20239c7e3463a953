package openapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testRequests checks whether openapi3filter accepts requests according to the document.
func testRequests(t *testing.T, doc *openapi3.T) {
	const id = "/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	const device = `{"hostname":"sw1","ip":"192.0.2.1","model":"X","vendor":"Y","os":"Z","status":"active"}`
	local := *doc
	local.Servers = openapi3.Servers{{URL: "/"}} // the router can't read a relative one
	router, err := legacy.NewRouter(&local, openapi3.EnableExamplesValidation())
	require.NoError(t, err)
	for _, c := range []struct {
		request, body string
		passes        bool
	}{
		{"GET /devices", "", true},
		{"GET /devices?limit=20&page=2&sortby=hostname:asc&sortby=vendor:desc&count=false", "", true},
		{"GET /devices?cursor=&fields=id,hostname&q=sw", "", true},
		{"GET /devices?hostname__contains=a&status__in=active,offline&location_id__isnull=true&tags=a&tags=b", "", true},
		{"GET /devices?last_seen__gte=2026-01-31T12:00:00Z&ip=192.0.2.1", "", true},
		{"GET /devices?limit=0", "", false},
		{"GET /devices?sortby=tags:asc", "", false},
		{"GET /devices?fields=id,id", "", true},
		{"GET /devices?fields=id,secret", "", false},
		{"GET /devices?status=gone", "", false},
		{"GET /devices?count=maybe", "", false},
		{"GET /devices?last_seen=yesterday", "", false},
		{"GET /devices?last_seen__gte=yesterday&last_seen__lt=-30d", "", true},
		{"GET /devices?last_seen__gte=30d", "", false},
		{"GET /devices?location_id__isnull=maybe", "", false},
		{"GET /devices" + id, "", true},
		{"GET /devices/1", "", false},
		{"POST /devices", device, true},
		{"POST /devices", "[" + device + "]", true},
		{"POST /devices", `{"ip":"192.0.2.1"}`, false},
		{"POST /devices", "", false},
		{"PATCH /devices" + id, `{"location_id":null}`, true},
		{"PATCH /devices" + id, `{"location_id":1}`, false},
		{"PATCH /devices", `[{"id":"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f","if_version":2,"status":"offline"}]`, true},
		{"PATCH /devices", `[{"status":"offline"}]`, false},
		{"DELETE /devices", `["018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"]`, true},
		{"DELETE /devices", `["1"]`, false},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequest(method, target, strings.NewReader(c.body))
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		route, params, err := router.FindRoute(r)
		require.NoError(t, err, c.request)
		err = openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params, Route: route,
			Options: &openapi3filter.Options{
				AuthenticationFunc:      openapi3filter.NoopAuthenticationFunc,
				SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()},
			},
		})
		assert.Equal(t, c.passes, err == nil, "%s %s: %v", c.request, c.body, err)
	}
}
