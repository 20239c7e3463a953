package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	os.Exit(m.Run())
}

// in runs a test with a server for each router.
func in(t *testing.T, perHour uint32, test func(t *testing.T, c *client)) {
	t.Helper()
	t.Parallel()
	for _, router := range []string{"net/http", "chi", "gin"} {
		t.Run(router, func(t *testing.T) {
			t.Parallel()
			handler, err := routes(router, perHour)
			require.NoError(t, err)
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			test(t, &client{t: t, server: server})
		})
	}
}

type client struct {
	t      *testing.T
	server *httptest.Server
}

// start sends a request and returns the response, whose body is not read yet. It follows no redirects.
func (c *client) start(method, target, body string, headers ...string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+target, strings.NewReader(body))
	require.NoError(c.t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	own := *c.server.Client()
	own.Timeout = 20 * time.Second // of the response too
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := own.Do(r)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// send sends a request and returns the header and the body of the response, which must have the status.
func (c *client) send(status int, method, target, body string, headers ...string) (http.Header, string) {
	c.t.Helper()
	response := c.start(method, target, body, headers...)
	text, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, status, response.StatusCode, "%s %s: %s", method, target, text)
	return response.Header, string(text)
}

// resolve returns the target of a link on a page.
func resolve(t *testing.T, page, link string) string {
	t.Helper()
	base, err := url.Parse(page)
	require.NoError(t, err)
	target, err := base.Parse(link)
	require.NoError(t, err)
	return target.String()
}

const (
	site   = `{"name":"Berlin 1","city":"Berlin","country":"DE","address":"Allee 1"}`
	server = `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"com.example/weather",` +
		`"description":"The weather of any city","version":"1.0.0"}`
	call = `{"domain":"demo","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}`
)

// TestAPIs: records are created and listed, and addresses in responses keep the prefix.
func TestAPIs(t *testing.T) {
	in(t, 1000, func(t *testing.T, c *client) {
		made, _ := c.send(201, "POST", "/shop/api/books", `{"title":"Emma"}`)
		require.Regexp(t, `^/shop/api/books/[0-9a-f-]{36}$`, made.Get("Location"))
		_, book := c.send(200, "GET", made.Get("Location"), "")
		require.Contains(t, book, `"Emma"`)
		c.send(201, "POST", "/shop/api/books", `{"title":"Persuasion"}`)
		page, _ := c.send(200, "GET", "/shop/api/books?limit=1", "")
		next := regexp.MustCompile(`<([^>]+)>; rel="next"`).FindStringSubmatch(page.Get("Link"))
		require.NotNil(t, next, page.Get("Link"))
		_, list := c.send(200, "GET", resolve(t, "/shop/api/books?limit=1", next[1]), "")
		require.Contains(t, list, `"Persuasion"`)

		c.send(403, "POST", "/inventory/locations", site)
		made, _ = c.send(201, "POST", "/inventory/locations", site, "Authorization", "Bearer writer")
		require.Regexp(t, `^/inventory/locations/`, made.Get("Location"))
		_, location := c.send(200, "GET", made.Get("Location"), "")
		require.Contains(t, location, `"Berlin 1"`)

		for _, status := range []int{200, 200, 429} {
			_, decision := c.send(status, "POST", "/limits/json", call)
			require.Contains(t, decision, `"overallCode"`)
		}
	})
}

// TestEscapedSlash: a slash that is part of a name stays one.
func TestEscapedSlash(t *testing.T) {
	in(t, 1000, func(t *testing.T, c *client) {
		c.send(200, "POST", "/registry/v0.1/publish", server, "Authorization", "Bearer a-token-of-example-0123456789")
		_, found := c.send(200, "GET", "/registry/v0.1/servers/com.example%2Fweather/versions/latest", "")
		require.Contains(t, found, "weather of")
		c.send(404, "GET", "/registry/v0.1/servers/com.example/weather/versions/latest", "")
		c.send(404, "GET", "/registry%2Fv0.1/servers", "")
	})
}

// TestPages: pages, their assets and links are below the prefix.
func TestPages(t *testing.T) {
	in(t, 1000, func(t *testing.T, c *client) {
		for _, prefix := range []string{"/console", "/registry"} {
			header, page := c.send(200, "GET", prefix+"/", "", "Accept", "text/html")
			require.Contains(t, header.Get("Content-Type"), "text/html")
			addresses := regexp.MustCompile(`(?:href|src|action)="(/[^"]*)"`).FindAllStringSubmatch(page, -1)
			require.NotEmpty(t, addresses)
			for _, address := range addresses {
				require.Regexp(t, "^"+prefix+"/", address[1])
			}
			response := c.start("GET", prefix, "")
			require.Contains(t, []int{301, 307}, response.StatusCode)
			require.Equal(t, prefix+"/", response.Header.Get("Location"))
		}
		for _, path := range []string{"/console/", "/registry/", "/registry/docs/"} {
			_, page := c.send(200, "GET", path, "", "Accept", "text/html")
			style := regexp.MustCompile(`rel="stylesheet" href="([^"]*)"`).FindStringSubmatch(page)
			require.NotNil(t, style, path)
			header, _ := c.send(200, "GET", resolve(t, path, style[1]), "")
			require.Contains(t, header.Get("Content-Type"), "text/css", path)
		}
	})
}

// TestErrors: unknown paths and methods get errors in JSON, below the prefixes and outside of them.
func TestErrors(t *testing.T) {
	in(t, 1000, func(t *testing.T, c *client) {
		for _, path := range []string{"/nowhere", "/shop/nowhere", "/inventory/nowhere", "/registry/v0.1/nowhere", "/limits/nowhere"} {
			header, body := c.send(404, "GET", path, "")
			require.Contains(t, header.Get("Content-Type"), "json", path)
			require.Contains(t, body, "No such path", path)
		}
		for path, allowed := range map[string]string{"/shop/api/books": "GET", "/inventory/locations": "GET", "/registry/v0.1/servers": "GET", "/limits/json": "POST"} {
			header, body := c.send(405, "PUT", path, `{}`)
			require.Contains(t, header.Get("Allow"), allowed, path)
			require.Contains(t, header.Get("Content-Type"), "json", path)
			require.NotEmpty(t, body)
		}
		unknown := c.start("PROPFIND", "/shop/api/books", "")
		require.Contains(t, []int{404, 405}, unknown.StatusCode)
		require.Contains(t, unknown.Header.Get("Content-Type"), "json")
		header, body := c.send(200, "HEAD", "/shop/api/books", "")
		require.Empty(t, body)
		require.Equal(t, "0", header.Get("X-Total-Count"))
	})
}

// TestLimit: requests over the limit do not reach the handlers.
func TestLimit(t *testing.T) {
	in(t, 3, func(t *testing.T, c *client) {
		denied := 0
		for range 7 { // the hour may end in between
			response := c.start("POST", "/shop/api/books", `{"title":"Emma"}`)
			require.Equal(t, "3", response.Header.Get("RateLimit-Limit"))
			if response.StatusCode != 201 {
				require.Equal(t, 429, response.StatusCode)
				require.NotEmpty(t, response.Header.Get("Retry-After"))
				require.Empty(t, response.Header.Get("Location"))
				denied++
			}
		}
		require.Positive(t, denied)
	})
}

// TestStream: events arrive while the response goes on.
func TestStream(t *testing.T) {
	in(t, 1000, func(t *testing.T, c *client) {
		events := c.start("GET", "/inventory/changes/stream", "", "Authorization", "Bearer writer", "Accept-Encoding", "gzip")
		require.Equal(t, 200, events.StatusCode)
		require.Equal(t, "text/event-stream", events.Header.Get("Content-Type"))
		c.send(201, "POST", "/inventory/locations", site, "Authorization", "Bearer writer")
		lines := bufio.NewScanner(events.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Berlin 1") {
				return
			}
		}
		require.Fail(t, "the stream ended without the change", "%v", lines.Err())
	})
}

func TestUnknownRouter(t *testing.T) {
	t.Parallel()
	_, err := routes("mux", 1)
	require.ErrorContains(t, err, "use net/http")
}
