package registry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
)

const (
	ann  = "Bearer token-of-ann-0123456789"
	root = "Bearer token-of-root-0123456789"
)

// handler returns a registry whose clock advances by a second with each publication or change.
func handler(t testing.TB, store registry.Store) http.Handler {
	t.Helper()
	tokens, err := registry.Tokens(map[string][]string{
		strings.TrimPrefix(ann, "Bearer "): {"io.github.ann", "com.ann.*", "com.bob/shared"}, strings.TrimPrefix(root, "Bearer "): {"*"},
	})
	require.NoError(t, err)
	var seconds atomic.Int64
	return registry.NewHandler(store, &registry.Options{
		Authorize: tokens, MaxVersions: 20, Version: "1.2.3",
		Now:   func() time.Time { return registrytest.Start().Add(time.Duration(seconds.Add(1)) * time.Second) },
		Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}, Docs: apidocs.New(nil),
	})
}

// nextCursor returns the cursor of a page.
func nextCursor(t testing.TB, h http.Handler, target string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	var page registry.Page
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Metadata.NextCursor == "" {
		t.Fatalf("%s: %s, %v", target, w.Body, err)
	}
	return page.Metadata.NextCursor
}

func weather(version string) string {
	return `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.github.ann/weather",` +
		`"description":"Weather <of> any city & more","version":"` + version + `","x-unknown":[1.50]}`
}

const (
	versions = "/v0.1/servers/io.github.ann%2Fweather/versions"
	status   = "/v0.1/servers/io.github.ann%2Fweather/versions/1.0.0/status"
)

// TestLife publishes, reads, deprecates, deletes and restores a server.
func TestLife(t *testing.T) {
	t.Parallel()
	c := httpxtest.New(t, handler(t, registry.NewMemStore(nil)))
	c.Send("GET", versions, nil).Want(404)
	c.Send("GET", versions+"/latest", nil).Want(404)
	published := c.Send("POST", "/v0.1/publish", weather("1.0.0"), "Authorization", ann).Want(200).Body.String()
	want := `{"server":` + weather("1.0.0") + `,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active",` +
		`"statusChangedAt":"2026-01-31T12:00:01Z","publishedAt":"2026-01-31T12:00:01Z","updatedAt":"2026-01-31T12:00:01Z","isLatest":true}}}` + "\n"
	require.Equal(t, want, published)
	c.Send("POST", "/v0/publish", weather("1.0.0"), "Authorization", ann).Want(409)
	c.Send("POST", "/v0/publish", weather("1.10.0"), "Authorization", "bearer "+strings.TrimPrefix(ann, "Bearer ")).Want(200)

	read := c.Send("GET", versions+"/1.0.0", nil).Want(200)
	require.Equal(t, strings.Replace(want, `"isLatest":true`, `"isLatest":false`, 1), read.Body.String(), "read as published")
	c.Send("GET", versions+"/1.0.0", nil, "If-None-Match", read.Header().Get("ETag")).Want(304)
	for _, base := range []string{"/v0.1", "/v0"} {
		var e registry.Entry
		c.Send("GET", base+"/servers/io.github.ann%2Fweather/versions/latest", nil).Want(200).JSON(&e)
		require.Equal(t, "1.10.0", e.Version)
	}

	var e registry.Entry
	c.Send("PATCH", status, `{"status":"deprecated","statusMessage":"Use another"}`, "Authorization", ann).Want(200).JSON(&e)
	require.Equal(t, registry.Deprecated, e.State.Status)
	require.Equal(t, "Use another", e.State.StatusMessage)
	c.Send("GET", versions+"/1.0.0", nil, "If-None-Match", read.Header().Get("ETag")).Want(200)
	c.Send("PATCH", status, `{"status":"deprecated","statusMessage":"Use another"}`, "Authorization", ann).Want(400)
	c.Send("PUT", status, `{"status":"deleted"}`, "Authorization", ann).Want(200)
	c.Send("GET", versions+"/1.0.0", nil).Want(410)
	c.Send("GET", versions+"/1.0.0?include_deleted=true", nil).Want(200)
	require.Equal(t, []string{"1.10.0"}, listed(c, versions))
	require.Equal(t, []string{"1.10.0", "1.0.0"}, listed(c, versions+"?include_deleted=true"))

	var all struct {
		UpdatedCount int
		Servers      []registry.Entry
	}
	c.Send("PATCH", "/v0/servers/io.github.ann%2Fweather/status", `{"status":"deleted","statusMessage":"gone"}`, "Authorization", ann).Want(200).JSON(&all)
	require.Equal(t, 2, all.UpdatedCount)
	c.Send("GET", versions, nil).Want(410)
	c.Send("GET", versions+"/latest", nil).Want(410)
	require.Empty(t, listed(c, "/v0.1/servers"))
	require.Equal(t, []string{"1.0.0", "1.10.0"}, listed(c, "/v0.1/servers?updated_since=2026-01-31T12:00:06%2B00:00"))
	c.Send("PATCH", "/v0/servers/io.github.ann%2Fweather/status", `{"status":"active"}`, "Authorization", ann).Want(200)
	require.Equal(t, []string{"1.0.0", "1.10.0"}, listed(c, "/v0.1/servers"))
}

// listed returns the versions of a list.
func listed(c *httpxtest.Client, target string) []string {
	var page registry.Page
	c.Send("GET", target, nil).Want(200).JSON(&page)
	found := []string{}
	for i := range page.Servers {
		found = append(found, page.Servers[i].Version)
	}
	return found
}

// TestPages follows the cursors of all kinds of lists to their ends.
func TestPages(t *testing.T) {
	t.Parallel()
	store := registry.NewMemStore(nil)
	entries := registrytest.Entries(40, 3)
	require.NoError(t, store.Mirrored(t.Context(), entries, nil))
	c := httpxtest.New(t, handler(t, store))
	for query, want := range map[string]int{
		"": 120, "limit=7": 120, "limit=100": 120, "version=latest&limit=13": 40, "version=1.1.0": 40, "search=HARBOUR&limit=2": 3,
		"updated_since=2026-01-31T12:01:00Z&limit=11": 60, "updated_since=2026-01-31T12:01:00Z&version=latest&limit=11": 40, "unknown=1&limit=50": 120,
	} {
		seen, cursor := map[string]bool{}, ""
		for range 200 {
			var page registry.Page
			c.Send("GET", "/v0.1/servers?"+query+"&cursor="+url.QueryEscape(cursor), nil).Want(200).JSON(&page)
			require.Equal(t, len(page.Servers), page.Metadata.Count)
			for i := range page.Servers {
				key := page.Servers[i].Name + "@" + page.Servers[i].Version
				require.False(t, seen[key], "%s: %s occurs twice", query, key)
				seen[key] = true
			}
			if cursor = page.Metadata.NextCursor; cursor == "" {
				break
			}
		}
		assert.Len(t, seen, want, query)
	}
}

// TestRefusals: each invalid request is a problem that says what is wrong.
func TestRefusals(t *testing.T) {
	t.Parallel()
	store := registry.NewMemStore(nil)
	require.NoError(t, store.Mirrored(t.Context(), registrytest.Entries(3, 1), nil))
	h := handler(t, store)
	c := httpxtest.New(t, h)
	c.Send("POST", "/v0.1/publish", weather("1.0.0"), "Authorization", ann).Want(200)
	byName := nextCursor(t, h, "/v0.1/servers?limit=1")
	meta := func(m string) string { return strings.Replace(weather("2.0.0"), `"x-unknown":[1.50]`, `"_meta":`+m, 1) }
	for _, tc := range []struct {
		request, body, token string
		status               int
		want                 string
	}{
		{"GET /v0.1/servers?limit=0", "", "", 422, "query.limit"},
		{"GET /v0.1/servers?limit=101", "", "", 422, "query.limit"},
		{"GET /v0.1/servers?cursor=abc", "", "", 400, "use nextCursor"},
		{"GET /v0.1/servers?updated_since=2026-01-31T12:00:00Z&cursor=" + byName, "", "", 400, "another order"},
		{"GET /v0.1/servers?updated_since=yesterday", "", "", 400, "RFC 3339"},
		{"GET /v0.1/servers?include_deleted=maybe", "", "", 422, "true or false"},
		{"GET /v0.1/servers?search=" + strings.Repeat("x", 101), "", "", 422, "at most 100 characters"},
		{"GET /v0.1/servers?search=%00", "", "", 422, "search"},
		{"GET /v0.1/servers?limit=1&limit=2", "", "", 400, "Duplicate"},
		{"GET /v0.1/server", "", "", 404, "No such path"},
		{"DELETE " + versions + "/1.0.0", "", "", 405, "use GET"},
		{"POST /v0.1/publish", weather("2.0.0"), "", 401, "Authorization: Bearer"},
		{"POST /v0.1/publish", weather("2.0.0"), "Basic YTpi", 401, "Authorization: Bearer"},
		{"POST /v0.1/publish", weather("2.0.0"), "Bearer wrong", 401, "invalid or has expired"},
		{"POST /v0.1/publish", strings.Replace(weather("2.0.0"), "io.github.ann", "io.github.annex", 1), ann, 403, "io.github.ann, com.ann.*"},
		{"POST /v0.1/publish", strings.Replace(weather("2.0.0"), "io.github.ann", "com.ann", 1), ann, 403, "may not change"},
		{"POST /v0.1/publish", strings.Replace(weather("2.0.0"), "io.github.ann/weather", "com.bob/other", 1), ann, 403, "may not change"},
		{"POST /v0.1/publish", strings.Replace(weather("2.0.0"), "io.github.ann/weather", "com.ann.lab/x", 1), ann, 422, "body/name"},
		{"POST /v0.1/publish", strings.Replace(weather("2.0.0"), "io.github.ann/weather", "com.bob/shared", 1), ann, 200, "com.bob/shared"},
		{"POST /v0.1/publish", `{`, ann, 422, "Invalid manifest"},
		{"POST /v0.1/publish", ``, ann, 422, "Invalid manifest"},
		{"POST /v0.1/publish", `[]`, ann, 422, "Invalid manifest"},
		{"POST /v0.1/publish", weather("latest"), ann, 422, "body/version"},
		{"POST /v0.1/publish", weather("^1.0.0"), ann, 422, "body/version"},
		{"POST /v0.1/publish", strings.Replace(weather("2.0.0"), `"description"`, `"descriptoin"`, 1), ann, 422, "description"},
		{"POST /v0.1/publish", meta(`{"io.modelcontextprotocol.registry/publisher-provided":{"x":"` + strings.Repeat("x", 4096) + `"}}`), ann, 422, "at most 4096"},
		{"POST /v0.1/publish", strings.Repeat(" ", 1<<20) + weather("2.0.0"), ann, 413, "too large"},
		{"PATCH " + status, `{"status":"deleted"}`, "", 401, "token"},
		{"PATCH " + strings.Replace(status, "ann", "bob", 1), `{"status":"deleted"}`, ann, 403, "may not change"},
		{"PATCH " + strings.Replace(status, "1.0.0", "7.0.0", 1), `{"status":"deleted"}`, ann, 404, "not found"},
		{"PATCH " + status, `{"status":"gone"}`, ann, 422, "active, deprecated or deleted"},
		{"PATCH " + status, `{"status":7}`, ann, 422, "must be a string"},
		{"PATCH " + status, `status`, ann, 400, "not JSON"},
		{"PATCH " + status, `{"status":"active","statusMessage":"why"}`, ann, 422, "must be empty"},
		{"PATCH " + status, `{"status":"deprecated","statusMessage":"` + strings.Repeat("é", 501) + `"}`, ann, 422, "at most 500"},
		{"PATCH " + status, `{"status":"deprecated","statusMessage":"` + strings.Repeat("é", 500) + `"}`, ann, 200, "deprecated"},
	} {
		method, target, _ := strings.Cut(tc.request, " ")
		headers := []string{"Content-Type", "application/json"}
		if tc.token != "" {
			headers = append(headers, "Authorization", tc.token)
		}
		w := c.Send(method, target, tc.body, headers...)
		assert.Equal(t, tc.status, w.Code, "%s %.200s: %s", tc.request, tc.body, w.Body)
		assert.Contains(t, w.Body.String(), tc.want, tc.request)
		if tc.status < 400 {
			continue
		}
		assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), tc.request)
		var p struct {
			Status        int
			Detail, Error string
		}
		assert.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		assert.Equal(t, tc.status, p.Status)
		assert.Equal(t, p.Detail, p.Error)
	}
	c.Send("POST", "/v0.1/publish", weather("3.0.0"), "Authorization", ann, "Content-Type", "text/plain").Want(415)
	readOnly := httpxtest.New(t, registry.NewHandler(store, nil))
	readOnly.Send("POST", "/v0.1/publish", weather("3.0.0"), "Authorization", ann).Want(501)
	for i := range 20 {
		w := c.Send("POST", "/v0.1/publish", weather(fmt.Sprint("3.0.", i)), "Authorization", root)
		require.Equal(t, i >= 19, w.Code == 422, "the number of versions is limited: %d", i)
	}
}

// TestOtherOrigins: pages of other origins read everything and change nothing.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	store := registry.NewMemStore(nil)
	require.NoError(t, store.Mirrored(t.Context(), registrytest.Entries(3, 1), nil))
	c := httpxtest.New(t, handler(t, store))
	for _, origin := range []string{"vscode-file://vscode-app", "https://other.example", "http://localhost:3000", "null"} {
		for target, status := range map[string]int{
			"/v0.1/servers?limit=1": 200, "/v0.1/servers?limit=50&version=latest": 200, "/v0/servers?search=server": 200, "/v0.1/servers?limit=0": 422,
			"/v0.1/servers/com.example.team000%2Fserver-00000/versions/latest": 200, "/v0/servers/a.b%2Fc/versions": 404, "/v0.1/nowhere": 404,
		} {
			w := c.Send("GET", target, nil, "Origin", origin, "Sec-Fetch-Site", "cross-site").Want(status).WantHeader("Access-Control-Allow-Origin", "*")
			assert.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
			c.Send("OPTIONS", target, nil, "Origin", origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization").
				Want(204).WantHeader("Access-Control-Allow-Origin", "*").WantHeader("Access-Control-Allow-Methods", "GET, OPTIONS").
				WantHeader("Access-Control-Allow-Headers", "Authorization, Content-Type").WantHeader("Access-Control-Allow-Credentials", "")
		}
		for _, request := range []string{"POST /v0.1/publish", "POST /v0.1/validate", "POST /v0/auth/github-at", "PATCH " + status} {
			method, target, _ := strings.Cut(request, " ")
			c.Send(method, target, `{}`, "Origin", origin, "Authorization", ann).Want(403).WantHeader("Access-Control-Allow-Origin", "")
			preflight := c.Send("OPTIONS", target, nil, "Origin", origin, "Access-Control-Request-Method", method)
			assert.Empty(t, preflight.Header().Get("Access-Control-Allow-Origin"), "%s of %s", request, origin)
		}
	}
}

// TestValidate: a validation has all problems, in the form of the public registry and with positions and fixes.
func TestValidate(t *testing.T) {
	t.Parallel()
	c := httpxtest.New(t, handler(t, registry.NewMemStore(nil)))
	var result struct {
		Valid  bool
		Issues []struct {
			Type, Path, Message, Severity, Reference, Pointer string
			Line, Column                                      int
			Fix                                               *manifest.Edit
		}
	}
	text := strings.Replace(weather("^1.0.0"), `"x-unknown":[1.50]`, `"packages":[{"registryType":"NPM","identifier":"a","transport":{"type":"sse","url":"https://{x}/"}}]`, 1)
	for _, base := range []string{"/v0", "/v0.1"} {
		require.NoError(t, json.Unmarshal(c.Send("POST", base+"/validate", text).Want(200).Body.Bytes(), &result))
		require.False(t, result.Valid)
		found := map[string]string{}
		for _, i := range result.Issues {
			found[i.Path] = i.Severity + " " + i.Type + " " + i.Reference
			assert.Equal(t, 1, i.Line)
			assert.Positive(t, i.Column)
			assert.Equal(t, i.Path != "packages[0].transport.url", i.Fix != nil, i.Path)
		}
		assert.Equal(t, "error semantic version-range", found["version"])
		assert.Equal(t, "warning linter label-case", found["packages[0].registryType"])
		assert.Equal(t, "error semantic url-variable", found["packages[0].transport.url"])
	}
	require.NoError(t, json.Unmarshal(c.Send("POST", "/v0.1/validate", `{"name"`).Want(200).Body.Bytes(), &result))
	require.False(t, result.Valid)
	assert.Equal(t, "json", result.Issues[0].Type)
	require.NoError(t, json.Unmarshal(c.Send("POST", "/v0.1/validate", weather("1.0.0")).Want(200).Body.Bytes(), &result))
	require.True(t, result.Valid)
}

// TestPrivate: reads and pages need a token, the rest does not; changes are logged without the token.
func TestPrivate(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tokens, err := registry.Tokens(map[string][]string{strings.TrimPrefix(ann, "Bearer "): {"io.github.ann", "com.ann.*"}, "token-of-a-reader": nil})
	require.NoError(t, err)
	c := httpxtest.New(t, registry.NewHandler(registry.NewMemStore(nil), &registry.Options{
		Authorize: tokens, AuthorizeRead: tokens, Audit: slog.New(slog.NewTextHandler(&log, nil)), Pages: http.NotFoundHandler(),
	}))
	c.Send("POST", "/v0/publish", weather("1.0.0"), "Authorization", ann).Want(200)
	c.Send("PATCH", status, `{"status":"deleted"}`, "Authorization", ann).Want(200)
	c.Send("PATCH", status, `{"status":"active"}`, "Authorization", ann).Want(200)
	c.Send("POST", "/v0/publish", weather("1.0.0"), "Authorization", ann).Want(409)
	assert.Equal(t, 3, strings.Count(log.String(), "server=io.github.ann/weather version=1.0.0"), log.String())
	assert.Contains(t, log.String(), "msg=published")
	assert.NotContains(t, log.String(), strings.TrimPrefix(ann, "Bearer "))
	for _, target := range []string{"/v0.1/servers", "/v0/servers?limit=1", versions, versions + "/latest", "/", "/server?name=x"} {
		c.Send("GET", target, nil).Want(401).WantHeader("Www-Authenticate", "Bearer")
		c.Send("GET", target, nil, "Authorization", "Bearer wrong").Want(401)
		require.NotEqual(t, 401, c.Send("GET", target, nil, "Authorization", ann).Code, target)
	}
	c.Send("GET", "/v0.1/servers", nil, "Origin", "https://example.com").Want(401).WantHeader("Access-Control-Allow-Origin", "*")
	c.Send("GET", versions, nil, "Authorization", "Bearer token-of-a-reader").Want(200)
	c.Send("PATCH", status, `{"status":"deleted"}`, "Authorization", "Bearer token-of-a-reader").Want(403)
	c.Send("GET", "/v0.1/health", nil).Want(200)
	c.Send("POST", "/v0.1/validate", weather("1.0.0")).Want(200)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string][]string{
		{"short": {"*"}}, {"0123456789abcdef": {"com.*.x"}}, {"0123456789abcdef": {""}}, {"0123456789abcdef": {".*"}}, {"0123456789abcdef": {"a/b/c"}},
	} {
		_, err := registry.Tokens(table)
		require.Error(t, err, table)
	}
}

// TestDocument sends requests, and validates requests and responses against the OpenAPI document.
func TestDocument(t *testing.T) {
	t.Parallel()
	store := registry.NewMemStore(nil)
	require.NoError(t, store.Mirrored(t.Context(), registrytest.Entries(5, 2), nil))
	h := handler(t, store)
	c := httpxtest.New(t, h)
	c.Send("GET", "/docs/", nil).Want(200)
	c.Send("GET", "/server.schema.json", nil).Want(200)
	response := c.Send("GET", "/openapi.json", nil).Want(200)
	doc, err := openapi3.NewLoader().LoadFromData(response.Body.Bytes())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context(), openapi3.EnableExamplesValidation()))
	for path, item := range doc.Paths.Map() {
		methods := slices.Collect(maps.Keys(item.Operations()))
		if item.Get != nil {
			methods = append(methods, "HEAD")
		}
		slices.Sort(methods)
		target := "/v0.1" + strings.NewReplacer("{serverName}", "a.b%2Fc", "{version}", "1.0.0", "{method}", "github-at").Replace(path)
		c.Send("OPTIONS", target, nil).Want(405).WantHeader("Allow", strings.Join(methods, ", "))
	}
	doc.Servers = openapi3.Servers{{URL: "/v0.1"}, {URL: "/v0"}} // the router can't read relative ones
	router, err := legacy.NewRouter(doc)
	require.NoError(t, err)
	for _, tc := range []struct {
		request, body string
		status        int
	}{
		{"GET /v0.1/servers", "", 200},
		{"GET /v0/servers?limit=3&search=server&version=latest&include_deleted=true&updated_since=2026-01-31T12:00:00Z", "", 200},
		{"GET /v0.1/servers?cursor=x", "", 400},
		{"GET /v0.1/servers/com.example.team000%2Fserver-00000/versions", "", 200},
		{"GET /v0.1/servers/com.example.team000%2Fserver-00000/versions/latest", "", 200},
		{"GET /v0.1/servers/com.example.team000%2Fserver-00001/versions/latest", "", 404},
		{"POST /v0.1/publish", weather("1.0.0"), 200},
		{"POST /v0.1/publish", weather("1.0.0"), 409},
		{"POST /v0.1/publish", weather("latest"), 422},
		{"PATCH " + status, `{"status":"deprecated","statusMessage":"x"}`, 200},
		{"PUT " + status, `{"status":"deleted"}`, 200},
		{"PATCH /v0.1/servers/io.github.ann%2Fweather/status", `{"status":"active"}`, 200},
		{"POST /v0.1/validate", weather("^1.0.0"), 200},
		{"POST /v0/auth/github-at", `{"github_token":"token-of-ann-0123456789"}`, 200},
		{"POST /v0/auth/github-at", `{"github_token":"wrong"}`, 401},
		{"POST /v0/auth/none", `{}`, 400},
		{"GET /v0.1/health", "", 200},
		{"GET /v0.1/ping", "", 200},
		{"GET /v0/version", "", 200},
	} {
		method, target, _ := strings.Cut(tc.request, " ")
		r := httptest.NewRequest(method, target, strings.NewReader(tc.body))
		r.Header.Set("Authorization", root)
		if tc.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		route, params, err := router.FindRoute(r)
		require.NoError(t, err, tc.request)
		input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
			IncludeResponseStatus: true, SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()},
		}}
		assert.NoError(t, openapi3filter.ValidateRequest(t.Context(), input), tc.request)
		r.Body = io.NopCloser(strings.NewReader(tc.body)) // the filter has read it
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, tc.status, w.Code, "%s: %s", tc.request, w.Body)
		assert.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: input, Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())), Options: input.Options,
		}), "%s: %s", tc.request, w.Body)
	}
}
