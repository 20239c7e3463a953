package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestRoles: a program that embeds the server defines roles of its own.
func TestRoles(t *testing.T) {
	t.Parallel()
	srv, err := server.New(t.Context(), settings(t, nil), &server.Options{
		Log: slog.New(slog.DiscardHandler), Output: &bytes.Buffer{}, Roles: map[auth.Role][]string{"collector": {"metrics:write"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	send := func(method, path, token, body string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, r)
		return http.StatusText(w.Code) + w.Body.String()
	}
	login := func(name string) string {
		return regexp.MustCompile(`"token":"([^"]+)"`).FindStringSubmatch(send("POST", "/users/login", "", `{"username":"`+name+`","password":"`+password+`"}`))[1]
	}
	require.Contains(t, send("POST", "/users", login("admin"), `{"username":"bot","email":"bot@example.org","role":"collector","password":"`+password+`"}`), "Created")
	token := login("bot")
	require.Contains(t, send("POST", "/metrics", token, `{}`), "device_id")
	require.Contains(t, send("GET", "/devices", token, ""), "Forbidden")
}
