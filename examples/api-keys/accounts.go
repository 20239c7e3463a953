package main

import (
	"crypto/sha256"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

type account struct{ name, tier string }

// accounts are stored by the hash of their key: a program that stores no keys can't leak them.
type accounts map[[sha256.Size]byte]account

func (a accounts) of(r *http.Request) (account, bool) {
	found := a[sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))]
	return found, found.tier != ""
}

// require rejects requests without a known key.
func (a accounts) require(next http.Handler) http.Handler {
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if _, ok := a.of(r); !ok {
			return httpx.Errorf(http.StatusUnauthorized, "Set the header X-Api-Key to your API key")
		}
		next.ServeHTTP(w, r)
		return nil
	})
}
