package auth_test

import (
	"context"
	"fmt"
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
	// Password is one of the most common, or nearly: choose another, such as four words
	// Password must have at least 8 characters
	// Password must not be your user name or e-mail address, or your name: choose another, such as four words
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
