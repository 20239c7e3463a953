package browsertest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// consolePassword is the password of all users of a console of a test.
const consolePassword = "a long way to the console"

// consoleServer is a server with its console, a demo network, and the users admin, editor and viewer.
type consoleServer struct {
	t      *testing.T
	url    string
	token  string // of admin, for the API
	store  records.Store
	schema *records.Schema
}

// startConsole starts a server with so many devices.
func startConsole(t *testing.T, devices int) *consoleServer {
	t.Helper()
	return startConsoleWith(t, devices, func(*server.Settings, string) {})
}

// startConsoleWith is startConsole with other settings, which configure changes. It gets the URL of the server.
func startConsoleWith(t *testing.T, devices int, configure func(settings *server.Settings, url string)) *consoleServer {
	t.Helper()
	listening := httptest.NewUnstartedServer(nil)
	s := &consoleServer{t: t, url: "http://" + listening.Listener.Addr().String()}
	settings := server.Default()
	settings.DatabaseURL, settings.AdminPassword = filepath.Join(t.TempDir(), "inventory.db"), consolePassword
	settings.RateLimit, settings.DatabaseTimeout = 100_000, timeout
	configure(settings, s.url)
	inventory, err := server.New(t.Context(), settings, &server.Options{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Output: io.Discard, Roles: map[auth.Role][]string{technician: {"devices:*", "interfaces:*", "locations:read"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inventory.Close()) })
	_, err = demo.Fill(t.Context(), inventory.Store(), &demo.Options{Devices: devices})
	require.NoError(t, err)
	s.schema, s.store = inventory.Store().Schema(), inventory.Store()
	listening.Config.Handler = inventory.Handler()
	listening.Start()
	t.Cleanup(listening.Close)
	s.token = s.as("admin").token
	for _, role := range []string{"editor", "viewer"} {
		s.user(role, map[string]any{"role": role})
	}
	return s
}

// technician is a role that a program adds.
const technician = "technician"

// user creates a user with further fields, and returns the id.
func (s *consoleServer) user(name string, fields map[string]any) string {
	s.t.Helper()
	fields["username"], fields["email"], fields["password"] = name, name+"@example.com", consolePassword
	return s.create("users", fields)
}

// as returns the server for a user, who logs in.
func (s *consoleServer) as(user string) *consoleServer {
	s.t.Helper()
	var session struct{ Token string }
	s.api("POST", "/users/login", map[string]any{"username": user, "password": consolePassword}, &session)
	return &consoleServer{s.t, s.url, session.Token, s.store, s.schema}
}

// api calls the API as admin, and decodes the response into what into points to, unless it is nil.
func (s *consoleServer) api(method, path string, body, into any) {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, bytes.NewReader(encoded))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Less(s.t, response.StatusCode, 400, "%s %s: %s", method, path, text)
	if into != nil {
		require.NoError(s.t, json.Unmarshal(text, into))
	}
}

// needs skips the test if the server has no feature with a path of the API.
func (s *consoleServer) needs(path string) {
	s.t.Helper()
	var document struct{ Paths map[string]any }
	s.api("GET", "/openapi.json", nil, &document)
	if document.Paths[path] == nil {
		s.t.Skip("the server has no feature with " + path)
	}
}

// first returns the first record of a list of the API.
func (s *consoleServer) first(path string) map[string]any {
	s.t.Helper()
	var page struct{ Data []map[string]any }
	s.api("GET", path, nil, &page)
	require.NotEmpty(s.t, page.Data, path)
	return page.Data[0]
}

// open opens a page of the console as a user, who signs in on the way.
func (s *consoleServer) open(user, path string, opts *Options) *Page {
	s.t.Helper()
	page := Open(s.t, s.url+"/console"+path, opts)
	page.Type("#username", user)
	page.Type("#password", consolePassword)
	page.Submit(".sign-in .button-main")
	page.Await(".frame:not(.frame-single)") // with navigation
	return page
}

// looks checks the open page in light and dark, wide and narrow: accessible, not wider than the window, and
// without errors. It keeps screenshots. The narrow page in light has the colours of the wide one, and axe does not look again.
func (s *consoleServer) looks(page *Page, name string) {
	s.t.Helper()
	for _, size := range []struct {
		suffix        string
		width, height int64
		dark          bool
		rules         string
	}{
		{"", 1280, 800, false, allRules},
		{"-dark", 1280, 800, true, ruleColor},
		{"-narrow", 390, 844, false, ""},
		{"-narrow-dark", 390, 844, true, allRules},
	} {
		page.Resize(size.width, size.height, size.dark)
		page.Keep(name + size.suffix)
		if size.rules != "" {
			page.accessible(size.rules)
		}
		if page.Overflows() {
			s.t.Errorf("%s%s: the page scrolls horizontally", name, size.suffix)
		}
	}
	page.Resize(640, 400, false) // a wide window at 200 %
	if page.Overflows() {
		s.t.Errorf("%s: the page scrolls horizontally at 200 %%", name)
		page.Keep(name + "-zoom")
	}
	page.Resize(1280, 800, false)
	page.Silent()
}
