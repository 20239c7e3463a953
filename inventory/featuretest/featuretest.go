// Package featuretest serves an inventory with features, for their tests.
//
//	api := featuretest.New(t, nil, drift.New())
//	api.As("viewer").Send("POST", "/drift", body).Want(http.StatusOK)
package featuretest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Password is the password of the users root, editor and viewer. root is an admin, the others have the role of
// their name.
const Password = "correct horse battery"

// API is an API with users. Its methods end the test if they fail.
type API struct {
	*httpapi.API
	Store records.Store
	Users map[string]*inventory.User // by name

	t      testing.TB
	tokens *jwt.Tokens
}

// New serves an inventory with features over a store without users, nil for one in memory, until the end of
// the test.
func New(t testing.TB, store records.Store, features ...*feature.Feature) *API {
	t.Helper()
	a := &API{Store: store, Users: map[string]*inventory.User{}, t: t}
	if store == nil {
		a.Store = records.NewMemStore(inventory.Schema())
	}
	var err error
	a.tokens, err = jwt.NewTokens([][]byte{[]byte(strings.Repeat("k", auth.MinKeyBytes))}, nil)
	a.check(err)
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}})
	a.check(err)
	hash, err := hasher.Hash(t.Context(), Password)
	a.check(err)
	engine := records.New(a.Store, nil)
	for name, role := range map[string]inventory.Role{"root": inventory.Admin, "editor": inventory.Editor, "viewer": inventory.Viewer} {
		a.Users[name] = &inventory.User{Username: name, Email: name + "@example.org", Role: role, PasswordHash: hash}
		a.check(engine.Create(t.Context(), records.Caller{Name: "test"}, a.Users[name]))
	}
	guard, err := jwt.NewGuard(a.tokens, accounts.NewStates(a.Store), nil)
	a.check(err)
	service, err := accounts.New(engine, hasher, nil)
	a.check(err)
	t.Cleanup(func() { a.check(service.Close()) })
	a.API, err = httpapi.New(engine, guard, &httpapi.Options{
		Accounts: &httpapi.Accounts{Service: service, Tokens: a.tokens}, Features: features,
	})
	a.check(err)
	return a
}

func (a *API) check(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// As returns a client with the token of a user, or without one if the name is empty.
func (a *API) As(name string) *httpxtest.Client {
	a.t.Helper()
	c := httpxtest.New(a.t, a.API)
	if name != "" {
		u := a.Users[name]
		token, _, err := a.tokens.Issue(auth.Identity{UserID: u.ID, Username: u.Username, Role: auth.Role(u.Role)})
		a.check(err)
		c.Header.Set("Authorization", "Bearer "+token)
	}
	return c
}

// Create creates a record as root and returns it.
func (a *API) Create(path string, body any) (created map[string]any) {
	a.t.Helper()
	a.As("root").Send(http.MethodPost, path, body).Want(http.StatusCreated).JSON(&created)
	return created
}

// List returns the records of a list as root sees them.
func (a *API) List(path string) []map[string]any {
	a.t.Helper()
	var page struct {
		Meta any
		Data []map[string]any
	}
	a.As("root").Send(http.MethodGet, path, nil).Want(http.StatusOK).JSON(&page)
	return page.Data
}
