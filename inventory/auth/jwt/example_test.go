package jwt_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

func ExampleNewTokens() {
	secret := make([]byte, auth.MinKeyBytes)
	rand.Read(secret)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	tokens, err := jwt.NewTokens([][]byte{secret}, &jwt.TokensOptions{
		Lifetime: time.Hour,
		Now:      func() time.Time { return now },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _, err := tokens.Issue(auth.Identity{UserID: "42", Username: "grace", Role: auth.Viewer})
	fmt.Println(err)

	claims, err := tokens.Verify(token)
	fmt.Println(claims.Username, claims.Role, claims.ExpiresAt.Format(time.TimeOnly), err)

	now = now.Add(2 * time.Hour)
	_, err = tokens.Verify(token)
	fmt.Println(auth.KindOf(err) == auth.TokenExpired, err)
	// Output:
	// <nil>
	// grace viewer 13:00:00 <nil>
	// true Unauthorized: Invalid or expired token: expired
}

// users holds the accounts of an application.
type users map[string]auth.AccountState

func (u users) AccountState(_ context.Context, userID, _ string) (auth.AccountState, error) {
	return u[userID], nil
}

func ExampleNewGuard() {
	secret := make([]byte, auth.MinKeyBytes)
	rand.Read(secret)
	tokens, err := jwt.NewTokens([][]byte{secret}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	known := users{"42": {Active: true, Role: auth.Viewer}}
	guard, err := jwt.NewGuard(tokens, known, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _, _ := tokens.Issue(auth.Identity{UserID: "42", Username: "grace", Role: auth.Viewer})
	r := httptest.NewRequest("DELETE", "/devices/7", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)

	who, err := guard.Authenticate(r)
	fmt.Println(who.Username, err)
	fmt.Println(auth.Authorize(who, auth.Permission{Roles: []auth.Role{auth.Admin}}, ""))

	delete(known, "42")
	guard.Forget("42")
	_, err = guard.Authenticate(r)
	fmt.Println(err)
	// Output:
	// grace <nil>
	// Forbidden: You do not have permission to perform this action
	// Unauthorized: Invalid or expired token: the user is inactive or deleted
}

func ExampleTokens_SetKeys() {
	set, err := auth.NewKeySet(nil) // stored with Encode, read with ParseKeySet
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tokens, err := jwt.NewTokens(set.At(now), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	from, until, err := set.Rotate(now, jwt.DefaultLifetime)
	fmt.Println(from.Format(time.TimeOnly), until.Format(time.DateTime), err)
	fmt.Println(tokens.SetKeys(set.At(now)), len(set.At(now)), len(set.At(until)))
	// Output:
	// 12:00:30 2026-03-02 12:05:30 <nil>
	// <nil> 2 1
}
