package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// shared is the PostgreSQL server of tests that do not stop it.
var shared postgrestest.Shared

func TestMain(m *testing.M) { goleak.VerifyTestMain(shared.Main(m)) }

const password = "a long enough password"

// emptyDatabase returns the file of an empty database.
var emptyDatabase = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "server")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	store, err := sqlite.Open(context.Background(), path, inventory.Schema(), nil)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// settings returns the settings of a test server with a database file of its own.
func settings(t testing.TB, environ map[string]string) *server.Settings {
	t.Helper()
	all := map[string]string{
		"DATABASE_URL": filepath.Join(t.TempDir(), "inventory.db"), "ADMIN_PASSWORD": password, "RATE_LIMIT": "0",
	}
	for name, value := range environ {
		all[name] = value
	}
	if environ["DATABASE_URL"] == "" { // to create the tables takes longer than most tests
		file, err := emptyDatabase()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(all["DATABASE_URL"], file, 0o600))
	}
	s, err := server.Parse(all, map[string]string{"addr": "127.0.0.1:0"})
	require.NoError(t, err)
	return s
}

// running is a server that listens.
type running struct {
	t    testing.TB
	srv  *server.Server
	url  string
	log  *logtest.Log
	out  *logtest.Log
	http *http.Client
	stop func() error // waits until the server has ended; may be called again
}

// serve runs a server until the test ends.
func serve(t testing.TB, s *server.Settings) *running {
	t.Helper()
	return serveWith(t, s, new(server.Options).Cheap())
}

// serveWith is like serve, with options, of which it sets Log and Output.
func serveWith(t testing.TB, s *server.Settings, opts *server.Options) *running {
	t.Helper()
	r := &running{t: t, log: new(logtest.Log), out: new(logtest.Log), http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}}
	opts.Log, opts.Output = cmp.Or(opts.Log, r.log.Logger()), r.out
	srv, err := server.New(t.Context(), s, opts)
	require.NoError(t, err)
	r.srv = srv
	l, err := net.Listen("tcp", s.Addr)
	require.NoError(t, err)
	r.url = srv.URL(l.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		r.http.CloseIdleConnections()
		require.NoError(t, srv.Close())
		return err
	})
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	return r
}

// send sends one request, JSON if it has a body, and returns the response and its body.
func (r *running) send(method, path, token, body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	require.NoError(r.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := r.http.Do(request)
	require.NoError(r.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return response, string(data)
}

// want sends a request and ends the test if the response has another status.
func (r *running) want(status int, method, path, token, body string, headers ...string) string {
	r.t.Helper()
	response, text := r.send(method, path, token, body, headers...)
	require.Equal(r.t, status, response.StatusCode, "%s %s: %s", method, path, text)
	return text
}

// login returns the token of a user.
func (r *running) login(name, password string) string {
	r.t.Helper()
	sent, err := json.Marshal(map[string]string{"username": name, "password": password})
	require.NoError(r.t, err)
	var response struct{ Token string }
	require.NoError(r.t, json.Unmarshal([]byte(r.want(200, "POST", "/users/login", "", string(sent))), &response))
	require.NotEmpty(r.t, response.Token)
	return response.Token
}

const berlin = `{"name":"Berlin 1","city":"Berlin","country":"DE","address":"Allee 1"}`
