package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// builtIn is the schema of the inventory, to look up resources: with the race detector a new one takes long.
var builtIn = inventory.Schema()

// password is the password of every user.
const password = "correct horse battery"

// key signs tokens.
var key = []byte(strings.Repeat("k", auth.MinKeyBytes))

// harness is an API with a user of each role and access to its store.
type harness struct {
	t       testing.TB
	store   records.Store
	tokens  *jwt.Tokens
	hasher  *auth.Hasher
	api     *httpapi.API
	service *accounts.Service
	clock   *clock
	mails   *mails
	users   map[string]*inventory.User // by name
	log     *logtest.Log
}

// clock is an adjustable clock.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// mails records the sent reset codes and other notices.
type mails struct {
	mu      sync.Mutex
	all     []mail
	notices []*accounts.Notice
	fail    error
}

type mail struct {
	to   *inventory.User
	code string
}

func (m *mails) send(_ context.Context, n *accounts.Notice) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if n.Kind == accounts.ResetRequested {
		m.all = append(m.all, mail{n.User, n.Code})
	} else {
		m.notices = append(m.notices, n)
	}
	return nil
}

// newNotices returns the notices that were sent since the last call, as text.
func (m *mails) newNotices() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, n := range m.notices {
		all = append(all, fmt.Sprintf("%s: %s by %s from %s", n.To, n.Kind, n.By, n.Address))
	}
	m.notices = nil
	return strings.Join(all, "\n")
}

// last returns the code of the last email.
func (m *mails) last(t testing.TB) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) == 0 {
		t.Fatal("no mail was sent")
	}
	return m.all[len(m.all)-1].code
}

func (m *mails) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all)
}

// choices override the defaults of a harness.
type choices struct {
	store     records.Store
	options   func(*httpapi.Options)
	guard     *jwt.GuardOptions
	noCurrent bool                   // accounts.Options.AllowWithoutCurrentPassword
	roles     map[auth.Role][]string // of the program
	hasher    *auth.Hasher           // of logins; the users have hashes of the default one
	beside    *harness               // a process with the same database, of which this one has the users
	engine    func(*records.Engine) *records.Engine
	bare      bool // without features, whose tests have tables of their own
	logins    *logins.Options
}

func newHarness(t testing.TB, want *choices) *harness {
	t.Helper()
	if want == nil {
		want = &choices{}
	}
	g := &harness{
		t: t, store: want.store, mails: &mails{}, users: map[string]*inventory.User{}, log: new(logtest.Log),
		clock: &clock{at: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
	}
	if want.beside != nil {
		g.users, g.mails, g.clock = want.beside.users, want.beside.mails, want.beside.clock
	}
	if g.store == nil {
		g.store = records.NewMemStore(builtIn)
	}
	var err error
	g.tokens, err = jwt.NewTokens([][]byte{key}, &jwt.TokensOptions{Now: g.clock.now})
	ok(t, err)
	g.hasher, err = auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}})
	ok(t, err)
	if want.beside == nil {
		g.makeUsers()
	}
	guarding := jwt.GuardOptions{}
	if want.guard != nil {
		guarding = *want.guard
	}
	guarding.Now = g.clock.now
	guard, err := jwt.NewGuard(g.tokens, accounts.NewStates(g.store), &guarding)
	ok(t, err)
	log := g.log.Logger()
	opts := &httpapi.Options{
		Chain: &httpx.StandardOptions{Log: log}, Log: log, Features: standard.Features(),
	}
	engine := records.New(g.store, &records.Options{Now: g.clock.now})
	if want.engine != nil {
		engine = want.engine(engine)
	}
	service, err := accounts.New(engine, cmp.Or(want.hasher, g.hasher), &accounts.Options{
		Notify: g.mails.send, Log: log, AllowWithoutCurrentPassword: want.noCurrent, Roles: want.roles,
	})
	ok(t, err)
	t.Cleanup(func() { ok(t, service.Close()) })
	g.service = service
	if want.bare {
		opts.Features = nil
	}
	users, err := logins.New(service, g.tokens, want.logins)
	ok(t, err)
	opts.Features = append(opts.Features, users)
	if want.options != nil {
		want.options(opts)
	}
	g.api, err = httpapi.New(engine, guard, opts)
	ok(t, err)
	return g
}

// makeUsers adds the admins root and second, and a user of each other role, named after it.
func (g *harness) makeUsers() {
	g.t.Helper()
	hash, err := g.hasher.Hash(context.Background(), password)
	ok(g.t, err)
	for name, role := range map[string]inventory.Role{
		"root": inventory.Admin, "second": inventory.Admin, "editor": inventory.Editor, "viewer": inventory.Viewer,
	} {
		u := &inventory.User{Username: name, Email: name + "@example.org", Role: role, PasswordHash: hash}
		ok(g.t, records.New(g.store, nil).Create(context.Background(), records.Caller{Name: "test"}, u))
		g.users[name] = u
	}
}

// token returns a token of a user, with a role that may differ from the user's.
func (g *harness) token(name string) string {
	g.t.Helper()
	u := g.users[name]
	token, _, err := g.tokens.Issue(auth.Identity{UserID: u.ID, Username: u.Username, Role: auth.Role(u.Role)})
	ok(g.t, err)
	return token
}

// as returns a client with the token of a user, or without a token for "".
func (g *harness) as(name string) *httpxtest.Client {
	g.t.Helper()
	return g.on(g.t, name)
}

// on is like as, for a subtest.
func (g *harness) on(t testing.TB, name string) *httpxtest.Client {
	t.Helper()
	c := httpxtest.New(t, g.api)
	if name != "" {
		c.Header.Set("Authorization", "Bearer "+g.token(name))
	}
	return c
}

// wait waits for the requested resets.
func (g *harness) wait() {
	g.t.Helper()
	ok(g.t, g.service.Wait(context.Background()))
}

// user returns a user from the store.
func (g *harness) user(name string) *inventory.User {
	g.t.Helper()
	u, err := records.Get[inventory.User](context.Background(), g.store, g.users[name].ID)
	ok(g.t, err)
	return u
}

// entries returns the audit log, the oldest entry first.
func (g *harness) entries() []*records.AuditLog {
	g.t.Helper()
	page, err := g.store.List(context.Background(), &records.Query{Resource: records.Of[records.AuditLog](builtIn)})
	ok(g.t, err)
	var all []*records.AuditLog
	for _, rec := range page.Records {
		if e := rec.(*records.AuditLog); e.Actor != "test" {
			all = append(all, e)
		}
	}
	return all
}

// last returns the latest entry.
func (g *harness) last() *records.AuditLog {
	g.t.Helper()
	all := g.entries()
	if len(all) == 0 {
		g.t.Fatal("the audit log is empty")
	}
	return all[len(all)-1]
}

// count returns the number of records of a resource.
func (g *harness) count(r *records.Resource) int64 {
	g.t.Helper()
	page, err := g.store.List(context.Background(), &records.Query{Resource: r, Count: true, Limit: 1})
	ok(g.t, err)
	return page.Total
}

// create posts a record and returns the created one.
func (g *harness) create(path string, body any) object {
	g.t.Helper()
	return read(g.t, g.as("root").Send("POST", path, body).Want(http.StatusCreated))
}

// object is a JSON object.
type object = map[string]any

func read(t testing.TB, a *httpxtest.Response) object {
	t.Helper()
	var v object
	if err := json.Unmarshal(a.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s is not an object: %v", a.Body, err)
	}
	return v
}

// data returns the records of a list.
func data(t testing.TB, a *httpxtest.Response) []object {
	t.Helper()
	var page struct {
		Meta object   `json:"meta"`
		Data []object `json:"data"`
	}
	a.Want(http.StatusOK).JSON(&page)
	if page.Data == nil {
		t.Errorf("data is null in %s", a.Body)
	}
	return page.Data
}

// values returns the values of one field.
func values(recs []object, field string) string {
	var all []string
	for _, rec := range recs {
		text, _ := rec[field].(string)
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// with returns a copy of an object with some members changed; nil removes one.
func with(o object, pairs ...any) object {
	changed := maps.Clone(o)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			delete(changed, pairs[i].(string))
			continue
		}
		changed[pairs[i].(string)] = pairs[i+1]
	}
	return changed
}

func device(hostname string) object {
	return object{
		"hostname": hostname, "ip": "192.0.2.1", "model": "QFX5120", "vendor": "Juniper", "os": "Junos", "status": "active",
	}
}

func location(name string) object {
	return object{"name": name, "city": "Berlin", "country": "DE", "address": "Allee 1"}
}

func port(device any, name string) object {
	return object{"device_id": device, "name": name, "type": "fiber"}
}

func user(name string) object {
	return object{"username": name, "email": name + "@example.net", "password": password, "role": "viewer"}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// path returns the path of a record.
func path(list string, rec object) string { return list + "/" + rec["id"].(string) }

// unknown is an id of no record.
const unknown = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"

// discard returns a logger that discards everything.
func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// authenticatorOf gives every request a role.
type authenticatorOf auth.Role

func (role authenticatorOf) Authenticate(*http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "someone", Username: "jane", Role: auth.Role(role)}, nil
}

// asJSON encodes a value, without HTML escapes.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	ok(t, encoder.Encode(v))
	return b.String()
}
