package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// An inventory with its own accounts, mounted under a prefix: the first admin logs in
// and adds a device.
func Example() {
	ctx, store := context.Background(), records.NewMemStore(inventory.Schema())
	_, _ = accounts.CreateSigningKey(ctx, store)
	keys, _ := accounts.SigningKeys(ctx, store, time.Now())
	tokens, _ := jwt.NewTokens(keys, nil)
	hasher, _ := auth.NewHasher(nil)
	const password = "four words and a number"
	engine := records.New(store, nil)
	_, _, _ = accounts.FirstAdmin(ctx, engine, hasher, "admin", password)
	guard, _ := jwt.NewGuard(tokens, accounts.NewStates(store), nil)
	notify := func(context.Context, *accounts.Notice) error { return nil }
	users, _ := accounts.New(engine, hasher, &accounts.Options{Notify: notify})
	defer users.Close()
	own, _ := logins.New(users, tokens, nil)
	api, err := httpapi.New(engine, guard, &httpapi.Options{Features: []*feature.Feature{own}})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/inventory/", http.StripPrefix("/inventory", api))

	login := post(mux, "/inventory/users/login", `{"username":"admin","password":"`+password+`"}`, "")
	cookie := login.Result().Cookies()[0]
	made := post(mux, "/inventory/devices",
		`{"hostname":"core-1","ip":"192.0.2.1","model":"QFX5120","vendor":"Juniper","os":"Junos","status":"active"}`, cookie.Value)
	fmt.Println(login.Code, made.Code, strings.HasPrefix(made.Header().Get("Location"), "/inventory/devices/"))
	// Output: 200 201 true
}

func post(h http.Handler, path, body, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
