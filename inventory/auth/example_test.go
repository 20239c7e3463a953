package auth_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// A login: Verify takes as long for unknown users as for a wrong password.
func ExampleNewHasher() {
	ctx := context.Background()
	hasher, err := auth.NewHasher(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := hasher.Hash(ctx, "correct horse battery")
	fmt.Println(err, len(stored))

	ok, err := hasher.Verify(ctx, stored, "correct horse battery")
	fmt.Println(ok, err, hasher.NeedsRehash(stored))
	ok, err = hasher.Verify(ctx, "", "correct horse battery") // an unknown user
	fmt.Println(ok, err)
	// Output:
	// <nil> 97
	// true <nil> false
	// false <nil>
}

func ExampleNewTokens() {
	secret := make([]byte, auth.MinKeyBytes)
	rand.Read(secret)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	tokens, err := auth.NewTokens([][]byte{secret}, &auth.TokensOptions{
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

func (u users) AccountState(_ context.Context, userID string) (auth.AccountState, error) {
	return u[userID], nil
}

func ExampleNewGuard() {
	secret := make([]byte, auth.MinKeyBytes)
	rand.Read(secret)
	tokens, err := auth.NewTokens([][]byte{secret}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	known := users{"42": {Active: true, Role: auth.Viewer}}
	guard, err := auth.NewGuard(tokens, known, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _, _ := tokens.Issue(auth.Identity{UserID: "42", Username: "grace", Role: auth.Viewer})
	r := httptest.NewRequest("DELETE", "/devices/7", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)

	claims, err := guard.Authenticate(r)
	fmt.Println(claims.Username, err)
	fmt.Println(auth.Authorize(claims, auth.Permission{Roles: []auth.Role{auth.Admin}}, ""))

	delete(known, "42")
	guard.Forget("42")
	_, err = guard.Authenticate(r)
	fmt.Println(err)
	// Output:
	// grace <nil>
	// Forbidden: You do not have permission to perform this action
	// Unauthorized: Invalid or expired token: the user is inactive or deleted
}

func ExamplePermission() {
	fmt.Println(auth.Permission{Everyone: true}.Allows(auth.Viewer, false))
	fmt.Println(auth.Permission{Roles: []auth.Role{auth.Admin}}.Allows(auth.Editor, false))
	fmt.Println(auth.Permission{Owner: true}.Allows(auth.Viewer, true))
	// Output:
	// true
	// false
	// true
}

func ExampleCheckPassword() {
	fmt.Println(auth.CheckPassword("Password1"))
	fmt.Println(auth.CheckPassword("amazing"))
	fmt.Println(auth.CheckPassword("grace.hopper", "grace.hopper@example.org"))
	fmt.Println(auth.CheckPassword("correct horse battery"))
	// Output:
	// Password is one of the most common: choose another
	// Password must have at least 8 characters
	// Password must not be your user name or e-mail address
	// <nil>
}

func ExampleNewReset() {
	now := time.Now()
	stored := "$argon2id$..." // of user 42
	code, reset := auth.NewReset("42", stored, now)
	fmt.Println(len(code)) // goes out by mail, and reset into the database

	found, err := auth.LookupReset(code)
	fmt.Println(found == reset.CodeHash, err)
	fmt.Println(reset.Check("42", stored, now.Add(10*time.Minute)))
	fmt.Println(reset.Check("42", stored, now.Add(20*time.Minute)))
	// Output:
	// 26
	// true <nil>
	// <nil>
	// Invalid or expired reset code: expired
}

func ExampleKeySet() {
	set, err := auth.NewKeySet(nil) // stored with Encode, read with ParseKeySet
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tokens, err := auth.NewTokens(set.At(now), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	from, until, err := set.Rotate(now, auth.DefaultLifetime)
	fmt.Println(from.Format(time.TimeOnly), until.Format(time.DateTime), err)
	fmt.Println(tokens.SetKeys(set.At(now)), len(set.At(now)), len(set.At(until)))
	// Output:
	// 12:00:30 2026-03-02 12:05:30 <nil>
	// <nil> 2 1
}
