package inventory_test

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func TestUsernameKey(t *testing.T) {
	t.Parallel()
	const blank = "letters, digits"
	for name, want := range map[string]string{
		"admin": "admin", "Admin": "admin", "ADMIN": "admin", "ａｄｍｉｎ": "admin", "Jane.Doe@Example.org": "jane.doe@example.org",
		"J\u00f6rg": "j\u00f6rg", "jo\u0308rg": "j\u00f6rg", "Иван": "иван", "Ελένη": "ελένη", "יעל": "יעל", "山田たろう2": "山田たろう2", "yamada山田": "yamada山田",
		"": "empty", "admin ": blank, " admin": blank, "a b": blank, "ad\u200bmin": blank, "admin\u00ad": blank, "admin\u202e": blank, "admin\ufeff": blank,
		"admin\u00a0": blank, "ad\tmin": blank, "adm\u2460n": blank, "\U0001f600": blank, "\xff": blank,
		strings.Repeat("x", 401): "400 bytes", strings.Repeat("x", 301): "300 characters", "\u0430dmin": "\u0430dmin",
	} {
		key, err := inventory.UsernameKey(name)
		if err == nil && key != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q has the key %q, %v; want %q", name, key, err, want)
		}
	}
}

// TestUsernameKeyIsStable: the key of a key is the key, and can't be that of an old name.
func TestUsernameKeyIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, err := inventory.UsernameKey(rapid.String().Draw(t, "name"))
		if err != nil {
			return
		}
		if again, err := inventory.UsernameKey(key); err != nil || again != key || strings.ContainsAny(key, " \n") {
			t.Fatalf("the key %q has the key %q, %v", key, again, err)
		}
	})
}

// named returns a user who needs no password.
func named(name string) *inventory.User {
	return &inventory.User{
		Username: name, Email: strings.ToLower(id(len(name))[30:]) + "." + strings.Map(func(r rune) rune { return 'a' + r%26 }, name) + "@example.org",
		Role: inventory.Viewer, PasswordHash: "x",
	}
}

// TestUsernamesAreUnique: no new or renamed user has the name of another one in another form.
func TestUsernamesAreUnique(t *testing.T) {
	t.Parallel()
	ctx, engine := t.Context(), records.New(records.NewMemStore(inventory.Schema()), nil)
	admin, jane := named("admin"), named("Jane")
	ok(t, engine.Create(ctx, records.Caller{}, admin, jane))
	for name, kind := range map[string]records.ErrorKind{
		"Admin": records.Conflict, "ＡＤＭＩＮ": records.Conflict, "jane": records.Conflict,
		"admin ": records.Invalid, "ad\u200bmin": records.Invalid,
	} {
		equal(t, "the field of "+name, fields(t, engine.Create(ctx, records.Caller{}, named(name)), kind), []string{"username"})
		_, err := engine.Update(ctx, records.Caller{}, resourceOf(jane), records.Edit{ID: jane.ID, Apply: func(rec records.Record) error {
			rec.(*inventory.User).Username = name
			return nil
		}})
		if name != "jane" {
			equal(t, "the field of the new name "+name, fields(t, err, kind), []string{"username"})
			continue
		}
		ok(t, err) // it is her own
	}
	isKind(t, engine.Create(ctx, records.Caller{}, named("Max"), named("MAX")), records.Conflict)
	got, err := records.Get[inventory.User](ctx, engine.Store(), jane.ID)
	ok(t, err)
	equal(t, "the name", got.Username, "jane") // as it was typed
	ok(t, engine.Delete(ctx, records.Caller{}, resourceOf(jane), records.Edit{ID: jane.ID}))
	ok(t, engine.Create(ctx, records.Caller{}, named("JANE")))
}

// TestOldUsernames: users of an earlier version get their keys, the oldest first, and keep their names.
func TestOldUsernames(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), records.NewMemStore(inventory.Schema())
	engine := records.New(store, nil)
	all := map[string]*inventory.User{}
	for _, name := range []string{"admin", "Admin", "Jane Doe", "jörg"} {
		u := named(name)
		ok(t, engine.Init(u))
		ok(t, store.Change(ctx, func(tx records.Tx) error { return tx.Create(ctx, u) })) // as an earlier version
		all[name] = u
	}
	edit := func(name string, change func(u *inventory.User)) error {
		_, err := engine.Update(ctx, records.Caller{}, resourceOf(all[name]), records.Edit{
			ID: all[name].ID, Apply: func(rec records.Record) error { change(rec.(*inventory.User)); return nil },
		})
		return err
	}
	ok(t, edit("Jane Doe", func(u *inventory.User) { u.FirstName = "Jane" })) // the name may stay
	isKind(t, engine.Create(ctx, records.Caller{}, named("JÖRG")), records.Conflict)

	var broken []inventory.OldUsername
	ok(t, store.Change(ctx, func(tx records.Tx) (err error) { broken, err = inventory.KeyUsernames(ctx, tx); return err }))
	equal(t, "the names that break the rules", broken, []inventory.OldUsername{{ID: all["Admin"].ID, Username: "Admin", SameAs: "admin"}})
	ok(t, store.Change(ctx, func(tx records.Tx) (err error) { broken, err = inventory.KeyUsernames(ctx, tx); return err }))
	equal(t, "the names that are left", len(broken), 0)

	ok(t, edit("Admin", func(u *inventory.User) { u.LastName = "Miller" }))
	isKind(t, edit("jörg", func(u *inventory.User) { u.Username = "ADMIN" }), records.Conflict)
	isKind(t, edit("Jane Doe", func(u *inventory.User) { u.Username = "jane doe" }), records.Invalid)
	ok(t, edit("Admin", func(u *inventory.User) { u.Username = "miller" }))
	isKind(t, engine.Create(context.WithoutCancel(ctx), records.Caller{}, named("Miller")), records.Conflict)
}
