package oidc_test

import (
	"fmt"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
)

// The handlers of a program that logs users in through a provider.
func ExampleNew() {
	tokens, err := jwt.NewTokens([][]byte{[]byte("0123456789abcdef0123456789abcdef")}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	provider, err := oidc.New(&oidc.Options{
		Issuer: "https://id.example.org", ClientID: "inventory", ClientSecret: "secret",
		RedirectURL: "https://inventory.example.org/callback",
		Keys:        func() [][]byte { return tokens.Derive(oidc.KeyPurpose) },
		RoleClaim:   "groups", Roles: []oidc.RoleOf{{Value: "net-admins", Role: auth.Admin}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		location, err := provider.Begin(w, r, "")
		if err != nil {
			http.Error(w, "The provider is not available", http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, location, http.StatusFound)
	})
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		who, _, err := provider.Finish(w, r)
		if auth.KindOf(err) == auth.LoginRefused {
			http.Error(w, "Not logged in", http.StatusUnauthorized)
			return
		}
		fmt.Fprintln(w, who.Issuer, who.Subject, who.Role)
	})
}
