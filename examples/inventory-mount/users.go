package main

import (
	"crypto/subtle"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

type apiKeys map[string]auth.Identity // users by key

// Authenticate implements [httpapi.Authenticator]. A real program would ask its database.
func (keys apiKeys) Authenticate(r *http.Request) (*auth.Identity, error) {
	sent := r.Header.Get("X-Api-Key")
	for key, who := range keys {
		if subtle.ConstantTimeCompare([]byte(sent), []byte(key)) == 1 {
			return &who, nil
		}
	}
	return nil, &auth.Error{Kind: auth.TokenMissing, Message: "Set the header X-Api-Key to your API key"}
}

// permit lets technicians change devices and interfaces, beside what the inventory allows.
func permit(_ *http.Request, who *auth.Identity, r *records.Resource, _ records.Routes, denied error) error {
	if who.Role == "technician" && (r.Name == "devices" || r.Name == "interfaces") {
		return nil
	}
	return denied
}
