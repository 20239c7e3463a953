package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/client"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

const password = "a long enough password"

// cabinet is a resource of a program.
type cabinet struct {
	records.Base
	Name string `json:"name" field:"required,unique,max=100,search"`
}

// parts are what the program adds: a resource, and fields that the Go types do not have.
var parts = []records.Part{
	records.Define[cabinet](records.Definition{Name: "cabinets", Label: "Cabinet"}),
	records.Extend("devices", "owner", records.Text, "max=50"),
	records.Extend("devices", "bought_at", records.Time, ""),
	records.Extend("devices", "watts", records.Float, ""),
}

// served is an inventory behind a fault, which handles requests first and reports whether that was all.
type served struct {
	*httptest.Server
	token string
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler) bool]
}

// open returns an inventory over the database in a directory.
func open(t *testing.T, dir string) *server.Server {
	t.Helper()
	s, err := server.Parse(map[string]string{
		"DATABASE_URL": filepath.Join(dir, "inventory.db"), "ADMIN_PASSWORD": password, "RATE_LIMIT": "0", "CONSOLE": "false", "ALLOWED_HOSTS": "*",
	}, nil)
	require.NoError(t, err)
	srv, err := server.New(t.Context(), s, &server.Options{
		Log: slog.New(slog.DiscardHandler), Output: io.Discard,
		Features: append(standard.Features(), &feature.Feature{Schema: parts}),
	})
	require.NoError(t, err)
	return srv
}

func serve(t *testing.T) *served {
	t.Helper()
	srv := open(t, t.TempDir())
	s := &served{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.fault.Load(); f == nil || !(*f)(w, r, srv.Handler()) {
			srv.Handler().ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		require.NoError(t, srv.Close())
	})
	c, err := client.New(s.URL, nil)
	require.NoError(t, err)
	s.token, err = c.Login(t.Context(), "admin", password, "")
	require.NoError(t, err)
	return s
}

// client returns a client with a token.
func (s *served) client(t *testing.T, opts client.Options) *client.Client {
	t.Helper()
	opts.Token = s.token
	c, err := client.New(s.URL, &opts)
	require.NoError(t, err)
	return c
}

// first does something to the first n requests of a method and path, and counts them all.
func (s *served) first(n int, method, path string, do func(w http.ResponseWriter, r *http.Request, next http.Handler)) *atomic.Int64 {
	count := new(atomic.Int64)
	f := func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != method || r.URL.Path != path || count.Add(1) > int64(n) {
			return false
		}
		do(w, r, next)
		return true
	}
	s.fault.Store(&f)
	return count
}

// lose handles a request and cuts the connection instead of responding.
func lose(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// respond refuses a request as a proxy does.
func respond(status int, header ...string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

func failed(t *testing.T, err error) *client.Error {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	return e
}

func collect[P any](t *testing.T, seq func(func(P, error) bool)) (all []P) {
	t.Helper()
	for v, err := range seq {
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "inventory", "ftp://inventory", "http://", "http://jane@inventory", "http://inventory?x=1", ":"} {
		_, err := client.New(address, nil)
		require.Error(t, err, address)
	}
	for _, opts := range []client.Options{{Token: "a b"}, {Token: "a\nb"}, {Attempts: -1}, {MaxWait: -1}, {Timeout: -1}, {MaxResponse: -1}} {
		_, err := client.New("http://inventory", &opts)
		require.ErrorContains(t, err, "Options.")
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.client(t, client.Options{}), t.Context()
	made, err := client.Create(ctx, c, &inventory.Device{Hostname: "sw1", Vendor: "Acme", Tags: []string{"core"}})
	require.NoError(t, err)
	require.Equal(t, inventory.DeviceActive, made.Status, "a default")
	got, err := client.Get[inventory.Device](ctx, c, made.ID)
	require.NoError(t, err)
	require.Equal(t, made, got)
	changed, err := client.Patch[inventory.Device](ctx, c, client.Edit{ID: made.ID, Version: 1, Fields: map[string]any{"status": "offline"}})
	require.NoError(t, err)
	require.Equal(t, "Acme offline 2", fmt.Sprint(changed.Vendor, " ", changed.Status, " ", changed.Version))
	for _, stale := range []func() error{
		func() error {
			_, err := client.Patch[inventory.Device](ctx, c, client.Edit{ID: made.ID, Version: 1, Fields: map[string]any{"status": "active"}})
			return err
		},
		func() error { _, err := client.Replace(ctx, c, made); return err },
		func() error { return client.Delete[inventory.Device](ctx, c, client.Edit{ID: made.ID, Version: 1}) },
	} {
		e := failed(t, stale())
		require.Equal(t, "412 precondition_failed false", fmt.Sprint(e.Status, " ", e.Code, " ", e.Unsure))
	}
	_, err = client.Patch[inventory.Device](ctx, c, client.Edit{ID: made.ID})
	require.NoError(t, err)
	require.NoError(t, client.Delete[inventory.Device](ctx, c, client.Edit{ID: made.ID}))
	_, err = client.Get[inventory.Device](ctx, c, made.ID)
	require.Equal(t, 404, failed(t, err).Status)

	_, err = client.Create(ctx, c, &inventory.Device{Hostname: "sw1", IP: "here"})
	e := failed(t, err)
	require.Equal(t, "invalid ip bad_format", e.Code+" "+e.Fields[0].Field+" "+e.Fields[0].Code)
	require.NotEmpty(t, e.RequestID)
	for _, id := range []string{"", "1", "../users", "x/../../users/00000000-0000-0000-000"} {
		_, err := client.Get[inventory.Device](ctx, c, id)
		require.ErrorContains(t, err, "id", id)
	}
	_, err = client.Get[cabinet](ctx, c, made.ID)
	require.ErrorContains(t, err, "Options.Schema")
}

func TestBulk(t *testing.T) {
	t.Parallel()
	s := serve(t)
	schema, err := inventory.NewSchema(parts...)
	require.NoError(t, err)
	c, ctx := s.client(t, client.Options{Schema: schema}), t.Context()
	var recs []*cabinet
	for i := range 250 {
		recs = append(recs, &cabinet{Name: fmt.Sprintf("c%03d", i)})
	}
	made, err := client.CreateAll(ctx, c, recs...)
	require.NoError(t, err)
	require.Len(t, made, 250)
	pages := s.first(0, "GET", "/cabinets", nil)
	var names []string
	for rec, err := range client.List[cabinet](ctx, c, url.Values{"sortby": {"name:desc"}}) {
		require.NoError(t, err)
		names = append(names, rec.Name)
	}
	require.Equal(t, "250 c249 c000 3", fmt.Sprint(len(names), " ", names[0], " ", names[249], " ", pages.Load()))
	for range client.List[cabinet](ctx, c, nil) {
		break
	}
	require.EqualValues(t, 4, pages.Load(), "a loop that ends reads no further page")

	changed, err := client.PatchAll[cabinet](ctx, c, client.Edit{ID: made[0].ID, Version: 1, Fields: map[string]any{"name": "first"}}, client.Edit{ID: made[1].ID, Fields: map[string]any{"name": "second"}})
	require.NoError(t, err)
	require.Equal(t, "first second", changed[0].Name+" "+changed[1].Name)
	err = client.DeleteAll[cabinet](ctx, c, client.Edit{ID: made[0].ID, Version: 1}, client.Edit{ID: made[1].ID})
	e := failed(t, err)
	require.Equal(t, 412, e.Status)
	require.Equal(t, made[0].ID, e.Items[0].ID)
	require.NoError(t, client.DeleteAll[cabinet](ctx, c, client.Edit{ID: made[0].ID}, client.Edit{ID: made[1].ID}))
	require.Len(t, collect(t, client.List[cabinet](ctx, c, nil)), 248)
}

// TestExtra checks that a program keeps the fields of a record that its types, and its schema, do not have.
func TestExtra(t *testing.T) {
	t.Parallel()
	s := serve(t)
	schema, err := inventory.NewSchema(parts...)
	require.NoError(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	knows, ctx := s.client(t, client.Options{Schema: schema}), t.Context()
	made, err := client.Create(ctx, knows, &inventory.Device{Base: records.Base{Extra: records.Values{"owner": "noc", "bought_at": at, "watts": 5.0}}, Hostname: "sw1"})
	require.NoError(t, err)
	want := records.Values{"owner": "noc", "bought_at": at, "watts": 5.0}
	require.Equal(t, want, made.Extra)

	older := s.client(t, client.Options{}) // whose schema lacks the fields
	read, err := client.Get[inventory.Device](ctx, older, made.ID)
	require.NoError(t, err)
	require.Equal(t, "noc", read.Extra["owner"])
	read.Vendor = "Acme"
	_, err = client.Replace(ctx, older, read)
	require.NoError(t, err)
	read, err = client.Get[inventory.Device](ctx, knows, made.ID)
	require.NoError(t, err)
	require.Equal(t, "Acme", read.Vendor)
	require.Equal(t, want, read.Extra)
	_, err = client.Patch[inventory.Device](ctx, older, client.Edit{ID: made.ID, Fields: map[string]any{"watts": 7.5, "bought_at": nil}})
	require.NoError(t, err)
	read, err = client.Get[inventory.Device](ctx, knows, made.ID)
	require.NoError(t, err)
	require.Equal(t, records.Values{"owner": "noc", "bought_at": nil, "watts": 7.5}, read.Extra)
}

// TestLostReply checks that nothing is done twice if the response to a request is lost.
func TestLostReply(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.client(t, client.Options{}), t.Context()
	sent := s.first(1, "POST", "/devices", lose)
	made, err := client.Create(ctx, c, &inventory.Device{Hostname: "sw1"})
	require.NoError(t, err)
	require.EqualValues(t, 2, sent.Load())
	s.first(1, "POST", "/devices", lose)
	_, err = client.CreateAll(ctx, c, &inventory.Device{Hostname: "sw2"}, &inventory.Device{Hostname: "sw3"})
	require.NoError(t, err)
	require.Len(t, collect(t, client.List[inventory.Device](ctx, c, nil)), 3)

	path := "/devices/" + made.ID
	s.first(1, "PATCH", path, lose)
	_, err = client.Patch[inventory.Device](ctx, c, client.Edit{ID: made.ID, Version: 1, Fields: map[string]any{"vendor": "Acme"}})
	e := failed(t, err)
	require.Equal(t, "412 true", fmt.Sprint(e.Status, " ", e.Unsure))
	s.first(1, "DELETE", path, lose)
	require.NoError(t, client.Delete[inventory.Device](ctx, c, client.Edit{ID: made.ID}))

	sent = s.first(1, "POST", "/import", lose)
	report, err := c.Import(ctx, []byte("hostname\nsw9\n"), &client.Import{Format: "csv", Resource: "devices"})
	require.NoError(t, err)
	require.Equal(t, "0 1 2", fmt.Sprint(report.Created, " ", report.Unchanged, " ", sent.Load()))
	sent = s.first(1, "POST", "/import", lose)
	_, err = c.Import(ctx, []byte("hostname\nsw10\n"), &client.Import{Format: "csv", Resource: "devices", Reject: true})
	require.Error(t, err)
	require.EqualValues(t, 1, sent.Load(), "a request that is not safe to repeat")
}

// TestFailures checks which failures are tried again, and the bounds.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    func(http.ResponseWriter, *http.Request, http.Handler)
		faults   int
		attempts int64
		status   int // of the error; 0 for none, -1 for another error
	}{
		"cut connections":    {func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, 2, 3, 0},
		"always cut":         {func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, 99, 5, -1},
		"too many requests":  {respond(429, "Retry-After", "0"), 2, 3, 0},
		"unavailable":        {respond(503), 2, 3, 0},
		"bad gateway":        {respond(502), 4, 5, 0},
		"always unavailable": {respond(503), 99, 5, 503},
		"a long wait":        {respond(429, "Retry-After", "3600"), 99, 1, 429},
		"a late date":        {respond(503, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), 99, 1, 503},
		"a strange response": {respond(404), 99, 1, 404},
		"a redirect":         {respond(302, "Location", "https://example.com/"), 99, 1, 302},
		"a response cut short": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"data"`)
		}, 2, 3, 0},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = io.WriteString(w, "<html>") }, 99, 1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			sent := s.first(c.faults, "GET", "/devices", c.fault)
			var err error
			for _, err = range client.List[inventory.Device](t.Context(), s.client(t, client.Options{}), nil) {
			}
			switch {
			case c.status == 0:
				require.NoError(t, err)
			case c.status < 0:
				require.Error(t, err)
				_, ok := errors.AsType[*client.Error](err)
				require.False(t, ok, "%v", err)
			default:
				require.Equal(t, c.status, failed(t, err).Status)
			}
			require.Equal(t, c.attempts, sent.Load())
		})
	}
}

// TestBounds checks the limits of waits, of silence and of sizes.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ctx := t.Context()
	var waits atomic.Int64
	c := s.client(t, client.Options{Timeout: 200 * time.Millisecond, Attempts: 2, Retry: func(time.Duration, error) { waits.Add(1) }})
	slow := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.WriteString(w, "id\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	sent := s.first(99, "GET", "/devices", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() })
	err := c.Do(ctx, "GET", "/devices", nil, nil, nil)
	require.ErrorContains(t, err, "Options.Timeout")
	require.Equal(t, "2 1", fmt.Sprint(sent.Load(), " ", waits.Load()))
	s.first(99, "GET", "/devices", slow)
	body, err := c.Open(ctx, "/devices", url.Values{"format": {"csv"}})
	require.NoError(t, err)
	text, err := io.ReadAll(body)
	require.ErrorContains(t, err, "Options.Timeout")
	require.Equal(t, "id\n", string(text))
	require.NoError(t, body.Close())

	s.first(99, "GET", "/devices", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = io.Copy(w, io.LimitReader(endless{}, 10<<20))
	})
	err = s.client(t, client.Options{MaxResponse: 1 << 20}).Do(ctx, "GET", "/devices", nil, nil, nil)
	require.ErrorContains(t, err, "Options.MaxResponse")

	s.first(99, "GET", "/devices", respond(429, "Retry-After", "30"))
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	begin := time.Now()
	err = s.client(t, client.Options{}).Do(short, "GET", "/devices", nil, nil, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 429, failed(t, err).Status)
	require.Less(t, time.Since(begin), 900*time.Millisecond, "a wait that the context does not allow is not begun")

	ended, end := context.WithCancel(ctx)
	end()
	require.ErrorIs(t, s.client(t, client.Options{}).Do(ended, "GET", "/devices", nil, nil, nil), context.Canceled)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	none, err := client.New("http://"+closed.Addr().String(), &client.Options{Attempts: 2})
	require.NoError(t, err)
	_, err = none.Login(ctx, "admin", password, "")
	require.Error(t, err)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

func TestImport(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.client(t, client.Options{}), t.Context()
	rows := []byte(`{"_resource":"locations","name":"VIE"}` + "\n" + `{"_resource":"devices","hostname":"sw1","location":"VIE"}` + "\n")
	plan, err := c.Import(ctx, rows, &client.Import{Format: "jsonl", DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "2 2", fmt.Sprint(plan.Created, " ", len(plan.Changes)))
	done, err := c.Import(ctx, rows, &client.Import{Format: "jsonl"})
	require.NoError(t, err)
	require.Equal(t, "2 0", fmt.Sprint(done.Created, " ", len(collect(t, client.List[inventory.VLAN](ctx, c, nil)))))
	_, err = c.Import(ctx, []byte("hostname,ip\nsw2,here\n"), &client.Import{Format: "csv", Resource: "devices"})
	e := failed(t, err)
	require.Equal(t, "422 2 ip", fmt.Sprint(e.Status, " ", e.Problems[0].Line, " ", e.Problems[0].Column))
	for _, wrong := range []*client.Import{nil, {Format: "xml"}} {
		_, err = c.Import(ctx, rows, wrong)
		require.ErrorContains(t, err, "csv")
	}
}

// TestChanges follows the changes across a restart of the server.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.RWMutex
	srv := open(t, dir)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.RLock()
		handler := srv.Handler()
		mu.RUnlock()
		handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	anonymous, err := client.New(front.URL, nil)
	require.NoError(t, err)
	token, err := anonymous.Login(ctx, "admin", password, "")
	require.NoError(t, err)
	c, err := client.New(front.URL, &client.Options{Token: token})
	require.NoError(t, err)
	cursor, err := c.Cursor(ctx)
	require.NoError(t, err)

	_, err = client.Create(ctx, c, &inventory.Device{Hostname: "sw1"})
	require.NoError(t, err)
	names := ""
	for change, err := range c.Changes(ctx, cursor, "devices") {
		require.NoError(t, err)
		names += fmt.Sprint(change.Changes["hostname"].After, " ")
		if strings.Contains(names, "sw2") {
			break
		}
		mu.Lock()
		require.NoError(t, srv.Close())
		front.CloseClientConnections()
		srv = open(t, dir)
		mu.Unlock()
		_, err = client.Create(ctx, c, &inventory.Device{Hostname: "sw2"})
		require.NoError(t, err)
		cursor = change.Cursor
	}
	require.Equal(t, "sw1 sw2 ", names)
	after := ""
	for change, err := range c.Changes(ctx, cursor) {
		require.NoError(t, err)
		after = fmt.Sprint(change.Changes["hostname"].After)
		break
	}
	require.Equal(t, "sw2", after)
	for _, wrong := range []struct {
		c      *client.Client
		since  string
		status int
	}{{c, "000000000000ffff-00000000", 410}, {c, "x", 400}, {anonymous, "0", 401}} {
		for _, err = range wrong.c.Changes(ctx, wrong.since) {
		}
		require.Equal(t, wrong.status, failed(t, err).Status)
	}
	mu.Lock()
	defer mu.Unlock()
	front.CloseClientConnections()
	require.NoError(t, srv.Close())
}
